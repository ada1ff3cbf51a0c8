/**
 * Finds the actor that somebody named, with or without its namespace.
 *
 * Promise: nobody has to know in which namespace an object lies if its name is unique; of a name that does
 * not exist it is told what is like it.
 */
import { nearest } from '../base/config-values.ts';
import { hasCode, OrreryError } from '../base/errors.ts';
import { type ActorId, parseActorId } from '../base/ids.ts';
import type { ActorView, ControlPort } from '../base/views.ts';
import { type KindsKnown, knownKind } from './actor-argument.ts';
import { listAll } from './get/list-all.ts';

type Asked = Pick<ControlPort, 'get' | 'list'>;

/** @throws OrreryError ACTOR_MISSING, or USAGE if the kind or the namespace is not clear */
export async function findActor(
  control: Asked,
  id: ActorId,
  options: { readonly history: boolean; readonly kinds?: KindsKnown },
): Promise<ActorView> {
  const view = await control.get(id, options);
  if (view !== null) return view;
  const found = await namesakeOf(control, id, options.kinds);
  const other = typeof found === 'string' ? await control.get(found, options) : null;
  if (other === null) throw missingActor(id, typeof found === 'string' ? [] : found.ids);
  return other;
}

/** The same for an actor that need not be there: a message may create it, or it has gone. */
export async function findId(control: Asked, id: ActorId, kinds?: KindsKnown): Promise<ActorId> {
  if (parseActorId(id).namespace !== '_' || (await control.get(id, { history: false })) !== null) return id;
  const found = await namesakeOf(control, id, kinds);
  return typeof found === 'string' ? found : id;
}

/**
 * The one actor of that kind and name, if no namespace was given (`_`), or if it is in none.
 *
 * @returns otherwise the actors of the kind
 * @throws OrreryError USAGE if there are several, or if the kind is unknown
 */
async function namesakeOf(
  control: Asked,
  id: ActorId,
  kinds?: KindsKnown,
): Promise<ActorId | { readonly ids: readonly ActorId[] }> {
  const { kind, name } = parseActorId(id);
  const { actors } = await listAll(control, { kind }).catch(async (thrown) => {
    // Replicas do not know the kind either; the kinds that there are say more than their refusal.
    if (hasCode(thrown, 'MESSAGE_UNREADABLE') && kinds !== undefined) await knownKind(id, kinds);
    throw thrown;
  });
  const ids = actors.map((one) => one.id).filter((one) => parseActorId(one).kind === kind);
  if (ids.length === 0 && kinds !== undefined) await knownKind(id, kinds);
  const fitting = ids.filter((one) => isNamed(one, id));
  const [first, ...others] = fitting;
  if (others.length > 0)
    throw new OrreryError(
      'USAGE',
      `ID: ${name} is in several namespaces: name one of ${fitting.sort().join(', ')}`,
    );
  return first ?? { ids };
}

/** For who finds nothing about an actor: that there is none of that name. @returns null: it is there */
export async function absenceOf(control: Asked, id: ActorId): Promise<OrreryError | null> {
  if ((await control.get(id, { history: false })) !== null) return null;
  const ids = (await listAll(control, { kind: parseActorId(id).kind })).actors.map((one) => one.id);
  return ids.includes(id) ? null : missingActor(id, ids);
}

/** Whether somebody means this actor: in that namespace, in none, or in any if none is given (`_`). */
export function isNamed(id: ActorId, wanted: ActorId): boolean {
  const [one, { namespace, name }] = [parseActorId(id), parseActorId(wanted)];
  return one.name === name && (namespace === '_' || [namespace, '_'].includes(one.namespace));
}

/** @param ids the actors of that kind that there are */
export function missingActor(id: ActorId, ids: readonly ActorId[]): OrreryError {
  const { kind, namespace, name } = parseActorId(id);
  const elsewhere = ids.filter((one) => parseActorId(one).name === name);
  const here = ids.filter((one) => namespace === '_' || parseActorId(one).namespace === namespace);
  const near = nearest(
    name,
    here.map((one) => parseActorId(one).name),
  );
  const alike = near === undefined ? elsewhere : here.filter((one) => parseActorId(one).name === near);
  const meant = alike.length === 0 ? '' : ` (is ${alike.slice(0, 3).join(' or ')} meant?)`;
  const place = namespace === '_' || here.length === 0 ? '' : ` -n ${namespace}`;
  const text = namespace === '_' ? `${kind} ${name}` : id;
  const advice = `"orrery get ${kind}${place}" lists those there are`;
  return new OrreryError('ACTOR_MISSING', `there is no actor ${text}${meant}: ${advice}`);
}
