/**
 * How messages are told apart by their ids (I5), and why nobody outside can make one that an actor will use.
 *
 * The mail stream drops what comes under an id that it knows, whoever stored it, and a record remembers the
 * ids that its actor took. A key can be guessed (`<actor id>/<rev>/<index>`): whoever used the next one first
 * would have the actor's own message dropped. So what actors say carries a word drawn with its step, which
 * stands in the record alone; and ids from outside are remembered apart from those of actors.
 */

/** The id under which an actor's message is stored. @param word absent: a release before wrote the record */
export const tellId = (key: string, index: number, word: string | undefined): string =>
  withWord(`${key}/${index}`, word);

export const withWord = (id: string, word: string | undefined): string =>
  word === undefined ? id : `${id}~${word}`;

/** By which a record remembers the message. @param isFromActor a replica vouches for that */
export function rememberedId(id: string, isFromActor: boolean): string {
  // Releases before wrote no word; an actor's name may have `~` in it, but numbers follow.
  return isFromActor ? id.replace(/~[\w-]+$/, '') : `outside/${id}`;
}
