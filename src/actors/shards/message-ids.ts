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

/**
 * The id under which an actor's message is stored. @param word absent: an earlier release wrote the record
 */
export const tellId = (key: string, index: number, word: string | undefined): string =>
  withWord(`${key}/${index}`, word);

export const withWord = (id: string, word: string | undefined): string =>
  word === undefined ? id : `${id}~${word}`;

/** The form in which a record remembers the id. @param isFromActor a replica vouches for that */
export function rememberedId(id: string, isFromActor: boolean): string {
  // Earlier releases wrote no word. An actor's name may contain `~`, but then numbers follow.
  return isFromActor ? id.replace(/~[\w-]+$/, '') : `outside/${id}`;
}
