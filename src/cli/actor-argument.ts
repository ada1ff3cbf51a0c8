/** The argument ID of a command: parses and checks it. Pure. */
import { asError, OrreryError } from '../base/errors.ts';
import { type ActorId, actorId, parseActorId } from '../base/ids.ts';
import type { Kinds } from '../replica/charts.ts';
import { kindNamed, type NamedKind, readKind } from './kind-argument.ts';

/**
 * Reads `pod/shop/web-0`; for kinds without a namespace `domain/app.example.com` is enough.
 *
 * @throws OrreryError USAGE
 */
export function readActorId(text: string): ActorId {
  const words = text.split('/');
  const full = words.length === 2 ? `${words[0]}/_/${words[1]}` : text;
  try {
    const { kind, namespace, name } = parseActorId(full);
    return actorId(kind, namespace, name);
  } catch (error) {
    throw new OrreryError('USAGE', `ID: ${asError(error).message}`);
  }
}

/** Loaded only where they are needed. */
export type KindsKnown = () => Promise<Kinds>;

/**
 * The same, with any name of the kind: `po/shop/web-0`. A kind that this program does not know may be a
 * loaded feature's, so it is passed on unchanged.
 *
 * @throws OrreryError USAGE
 */
export async function readKnownId(text: string, kinds: KindsKnown): Promise<ActorId> {
  const id = readActorId(text);
  const { kind, namespace, name } = parseActorId(id);
  const known = await resolved(kind, kinds);
  return known === null ? id : actorId(known.name, namespace, name);
}

/** Somebody who leaves the namespace out means a kind that has none, or forgot it. */
export function missingActor(id: ActorId): OrreryError {
  const { kind, namespace, name } = parseActorId(id);
  const [hint, place] =
    namespace === '_' ? [` (with a namespace: ${kind}/NAMESPACE/${name})`, ''] : ['', ` -n ${namespace}`];
  const advice = `"orrery get ${kind}${place}" lists those there are`;
  return new OrreryError('ACTOR_MISSING', `there is no actor ${id}${hint}: ${advice}`);
}

/** Called when nothing was found. @throws OrreryError USAGE with the known kinds, if the kind is unknown */
export async function knownKind(id: ActorId, kinds: KindsKnown): Promise<void> {
  const { charts } = await kinds();
  readKind(
    parseActorId(id).kind,
    charts.filter(({ durable }) => durable),
  );
}

async function resolved(kind: string, kinds: KindsKnown): Promise<NamedKind | null> {
  const { charts } = await kinds();
  return (
    kindNamed(
      kind,
      charts.filter(({ durable }) => durable),
    ) ?? null
  );
}
