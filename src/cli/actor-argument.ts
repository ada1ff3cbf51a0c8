/** The argument ID of a command: parses and checks it. Pure. */
import { asError, OrreryError } from '../base/errors.ts';
import { type ActorId, actorId, parseActorId } from '../base/ids.ts';
import type { Kinds } from '../replica/charts.ts';
import { kindNamed, type NamedKind, readKind } from './kind-argument.ts';

/**
 * Reads `pod/shop/web-0`, or without its namespace `domain/app.example.com`.
 *
 * @param namespace of an id without one
 * @throws OrreryError USAGE
 */
export function readActorId(text: string, namespace?: string): ActorId {
  const words = text.replace(/^[^/]+/, (kind) => kind.toLowerCase()).split('/');
  const full = words.length === 2 ? `${words[0]}/${namespace || '_'}/${words[1]}` : words.join('/');
  if (words.length > 2 && namespace && words[1] !== namespace)
    throw new OrreryError(
      'USAGE',
      `ID: ${text} is not in the namespace ${namespace}, which --namespace names`,
    );
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
 * As kubectl takes it: `pod/shop/web-0` in one word, or `pod web-0` in two.
 *
 * @param words beginning with it
 * @returns the id as one text, and the words behind it
 * @throws OrreryError USAGE
 */
export async function readActorWords(
  [first = '', second, ...others]: readonly string[],
  kinds: KindsKnown,
): Promise<{ readonly text: string; readonly rest: readonly string[] }> {
  if (first.includes('/')) return { text: first, rest: second === undefined ? [] : [second, ...others] };
  const isKind = async (word: string) => (await resolved(word, kinds)) !== null;
  if (second === undefined) {
    const form = 'KIND/NAMESPACE/NAME, such as pod/shop/web-0, or KIND NAME';
    const lacking = (await isKind(first))
      ? `the kind ${first} without a name ("orrery get ${first}" lists those there are)`
      : `${JSON.stringify(first)} without a kind`;
    throw new OrreryError('USAGE', `ID: ${lacking}; allowed: ${form}`);
  }
  if (!(await isKind(first)) && (await isKind(second)))
    throw new OrreryError('USAGE', `ID: the kind comes first: ${second} ${first}`);
  return { text: `${first}/${second}`, rest: others };
}

/**
 * The same, with any name of the kind: `po/shop/web-0`. A kind that this program does not know may be a
 * loaded feature's, so it is passed on unchanged.
 *
 * @throws OrreryError USAGE
 */
export async function readKnownId(text: string, kinds: KindsKnown, given?: string): Promise<ActorId> {
  const id = readActorId(text, given);
  const { kind, namespace, name } = parseActorId(id);
  const known = await resolved(kind, kinds);
  return known === null ? id : actorId(known.name, namespace, name);
}

/** Called when nothing was found. @throws OrreryError USAGE with the known kinds, if the kind is unknown */
export async function knownKind(id: ActorId, kinds: KindsKnown): Promise<void> {
  readKind(parseActorId(id).kind, await kindsOfActors(kinds));
}

async function resolved(kind: string, kinds: KindsKnown): Promise<NamedKind | null> {
  return kindNamed(kind, await kindsOfActors(kinds)) ?? null;
}

const kindsOfActors = async (kinds: KindsKnown): Promise<readonly NamedKind[]> =>
  (await kinds()).charts.filter(({ durable }) => durable);
