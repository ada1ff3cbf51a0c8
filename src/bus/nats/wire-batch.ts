/**
 * Stores several messages at once or none: the server's atomic batches (ADR-50), with a guard for each
 * message.
 *
 * The messages are sent together. Only the last, which commits, requests an answer, and that answer is for
 * the whole batch. The client library's batches drop the conditions of single messages, so the headers are
 * written here.
 */
import { limits } from '../../base/limits.ts';
import type { Appended, BatchMessage } from '../bus.ts';
import { refused, unreachable } from '../bus-errors.ts';
import { askOwn, type Takers } from './server/second-answers.ts';
import type { Wire, WireMessage } from './wire.ts';
import { acknowledgement, headersOf, unconfirmed } from './wire-append.ts';
import type { Failure, WireRequests } from './wire-requests.ts';

const batchId = 'Nats-Batch-Id';
const batchSequence = 'Nats-Batch-Sequence';
const batchCommit = 'Nats-Batch-Commit';

/** @param nextId makes a name that no other batch of this connection has */
export function wireBatch(wire: Wire, requests: WireRequests, nextId: () => string, takers: Takers) {
  return async (
    messages: readonly BatchMessage[],
    { timeoutMs = limits.appendTimeoutMs }: { readonly timeoutMs?: number } = {},
  ): Promise<Appended> => {
    if (wire.status !== 'connected') throw unreachable(wire.status);
    const last = messages.at(-1);
    if (last === undefined) throw refused('a batch without a message');
    const id = nextId();
    const headers = (index: number) => ({
      ...headersOf(messages[index] ?? {}),
      [batchId]: id,
      [batchSequence]: String(index + 1),
      ...(index === messages.length - 1 ? { [batchCommit]: '1' } : {}),
    });
    const guard = messages.find((message) => message.guard !== undefined)?.guard;
    messages.slice(0, -1).forEach(({ subject, data }, index) => {
      wire.publish(subject, data, headers(index));
    });
    const question = {
      subject: last.subject,
      data: last.data,
      headers: headers(messages.length - 1),
      timeoutMs,
      read: (answer: WireMessage) => acknowledgement(answer, guard),
      failed: (failure: Failure) => unconfirmed(failure, last.subject, `a batch to ${last.subject}`),
    };
    return askOwn(requests, question, takers);
  };
}
