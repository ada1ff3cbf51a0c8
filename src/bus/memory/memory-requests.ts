/**
 * Requests of one client of the memory hub: each message has an inbox of its own for the answers.
 */
import type { Timer } from '../../base/clock.ts';
import type { OrreryError } from '../../base/errors.ts';
import type { Bus, BusMessage } from '../bus.ts';
import { nobodyAnswers, unanswered, unreachable } from '../bus-errors.ts';
import type { ClientParts } from './memory-bus-parts.ts';
import { checkSendable, inboxSubject } from './memory-server.ts';

type Outcome = { readonly answer: BusMessage } | 'nobody' | 'disconnected';

export function memoryRequests(parts: ClientParts): { one: Bus['request']; many: Bus['requestMany'] } {
  const send = createInbox(parts);
  return { one: requestOne(parts, send), many: requestMany(parts, send) };
}

/** Sends, and passes each outcome to `onOutcome` until the returned function is called. */
type Send = (
  subject: string,
  data: Uint8Array,
  headers: BusMessage['headers'],
  onOutcome: (outcome: Outcome) => void,
) => () => void;

function createInbox({ id, link, server, receive }: ClientParts): Send {
  const waiting = new Map<string, (outcome: Outcome) => void>();
  let tokens = 0;
  server.inboxes.set(id, (message) =>
    receive(message, (answer) => waiting.get(answer.subject)?.({ answer })),
  );
  link.onChange.add((state) => {
    if (state === 'closed') server.inboxes.delete(id);
    if (state === 'closed' || state === 'down') for (const end of [...waiting.values()]) end('disconnected');
  });

  return (subject, data, headers, onOutcome) => {
    const reply = inboxSubject(id, ++tokens);
    waiting.set(reply, onOutcome);
    link.toServer(() => {
      if (server.route({ subject, data, headers, reply }) === 0)
        link.toClient(() => waiting.get(reply)?.('nobody'));
    });
    return () => void waiting.delete(reply);
  };
}

function requestOne({ link, clock }: ClientParts, send: Send): Bus['request'] {
  return (subject, data, { headers = {}, timeoutMs, signal }) =>
    new Promise((resolve, reject) => {
      if (link.status !== 'connected') return reject(unreachable(link.status));
      if (signal?.aborted) return reject(unreachable('aborted'));
      checkSendable(data, headers);
      const end = (settle: () => void): void => {
        forget();
        timer.cancel();
        signal?.removeEventListener('abort', onAbort);
        settle();
      };
      const fail = (error: OrreryError) => end(() => reject(error));
      const onAbort = () => fail(unreachable('aborted'));
      const timer: Timer = clock.after(timeoutMs, () => fail(unanswered(subject)));
      const forget = send(subject, data, headers, (outcome) => {
        if (outcome === 'nobody') fail(nobodyAnswers(subject));
        else if (outcome === 'disconnected') fail(unreachable(outcome));
        else end(() => resolve(outcome.answer));
      });
      signal?.addEventListener('abort', onAbort, { once: true });
    });
}

function requestMany({ link, clock }: ClientParts, send: Send): Bus['requestMany'] {
  return (subject, data, { headers = {}, timeoutMs, signal, enough }) =>
    new Promise((resolve, reject) => {
      const answers: BusMessage[] = [];
      if (link.status !== 'connected' || signal?.aborted) return resolve(answers);
      checkSendable(data, headers);
      const settle = (how: () => void): void => {
        forget();
        timer.cancel();
        signal?.removeEventListener('abort', end);
        how();
      };
      const end = (): void => settle(() => resolve(answers));
      const timer: Timer = clock.after(timeoutMs, end);
      const forget = send(subject, data, headers, (outcome) => {
        if (typeof outcome === 'string') return end();
        answers.push(outcome.answer);
        try {
          if (enough(answers)) end();
        } catch (error) {
          settle(() => reject(error));
        }
      });
      signal?.addEventListener('abort', end, { once: true });
    });
}
