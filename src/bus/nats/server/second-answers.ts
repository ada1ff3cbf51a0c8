/**
 * Which answer to a write is that of our own streams, where another JetStream shares the subjects.
 *
 * Streams of our names on a leaf node with a JetStream of its own take what is written here, and answer too:
 * their acknowledgements say nothing of our streams, and their refusals – they have other fences – would look
 * like lost shards. An acknowledgement names its domain; a refusal does not. So there, a refusal counts only
 * when the other answer has come, or none comes. Absent: two JetStreams without domains, whose
 * acknowledgements cannot be told apart.
 */
import { asError, attempt } from '../../../base/errors.ts';
import { errorIn, jsonOf } from '../jetstream-api.ts';
import type { WireMessage } from '../wire.ts';
import type { Question, WireRequests } from '../wire-requests.ts';

/** What is known of JetStreams that take what is written to our streams. */
export interface Takers {
  /** The domains of our own; null: none. They differ while somebody gives the servers one, one by one. */
  domains: ReadonlySet<string | null>;
  /** There is another one: without one, each answer is ours, whatever its domain. */
  areTwo: boolean;
}

export const oneTaker = (): Takers => ({ domains: new Set(), areTwo: false });

/** As `ask`, with the answer of our own streams. */
export function askOwn<T>(requests: WireRequests, question: Question<T>, takers: Takers): Promise<T> {
  const { subject, data, read, failed } = question;
  return new Promise<T>((resolve, reject) => {
    let refusal: Error | undefined;
    let hasOtherAnswered = false;
    const onAnswer = (message: WireMessage): boolean => {
      if (isOfAnother(message, takers)) {
        hasOtherAnswered = true;
        if (refusal !== undefined) reject(refusal);
        return refusal === undefined;
      }
      try {
        resolve(read(message));
        return false;
      } catch (error) {
        const isDecided = !takers.areTwo || hasOtherAnswered || refusal !== undefined;
        refusal ??= asError(error);
        if (isDecided) reject(refusal);
        return !isDecided;
      }
    };
    requests.send(subject, data, question, {
      onAnswer,
      onFailure: (failure) => reject(refusal ?? failed(failure)),
    });
  });
}

function isOfAnother(message: WireMessage, { domains, areTwo }: Takers): boolean {
  if (!areTwo) return false;
  const answer = attempt(() => jsonOf(message), {});
  return errorIn(answer) === undefined && 'seq' in answer && !domains.has((answer.domain as string) ?? null);
}
