/**
 * The ids of messages, which identify repetitions (I5), and why nobody outside can produce one that an actor
 * will use.
 *
 * The mail stream drops messages under an id that it knows, whoever stored the first, and a record remembers
 * the ids that its actor took. A key can be guessed (`<actor id>/<rev>/<index>`): an outsider who used the
 * next one first would make the stream drop the actor's own message. So the id of an actor's message contains
 * a word that is drawn with its step and stored only in the record, and ids from outside are remembered apart
 * from those of actors.
 */

import { hash } from './rendezvous.ts';

/**
 * The id under which an actor's message is stored. @param word absent: an earlier release wrote the record
 */
export const tellId = (key: string, index: number, word: string | undefined): string =>
  withWord(`${key}/${index}`, word);

export const withWord = (id: string, word: string | undefined): string =>
  word === undefined ? id : `${id}~${word}`;

/** The id of a message as its actor knows it. @param isFromActor a replica vouches for that */
export function knownId(id: string, isFromActor: boolean): string {
  return isFromActor ? id : `${outside}${id}`;
}

const outside = 'outside/';

/** The id without its word, as earlier releases write and know it. */
export function withoutWord(id: string): string {
  // An actor's name may contain `~`, but then numbers follow.
  return id.startsWith(outside) ? id : id.replace(/~[\w-]+$/, '');
}

/**
 * What a record remembers of a message that its actor took. The key alone is not enough: an actor that was
 * forgotten and is born again says other things under the same keys. Earlier releases know the key only.
 */
export function remembrance(id: string): string {
  const key = withoutWord(id);
  return key === id ? shortId(id) : `${shortId(key)} ${drawn}${shortId(id)}`;
}

/** Before the short form of an id with a word. */
export const drawn = '~';

/** @param entries of a record: one for each step, the remembrances of its messages separated by blanks */
export function isRemembered(entries: readonly string[], id: string): boolean {
  // A message without a word, or an entry of an earlier release, tells the key only.
  const [byKey = '', byWord = byKey] = remembrance(id).split(' ');
  return entries.some((entry) => entry.split(' ').includes(entry.includes(drawn) ? byWord : byKey));
}

/** 64 bits of a message id: a record holds several, and an accidental match among so few is one in 10^18. */
export function shortId(messageId: string): string {
  return `${hash(messageId).toString(36)}${hash(`~${messageId}`).toString(36)}`;
}
