/** What an Issuer reports: its status and Events for people, and to a domain why it has to wait. Pure. */

import type { ActorId } from '../../base/ids.ts';
import { kubeTime } from '../../base/kube-time.ts';
import { checksum } from '../checksum.ts';
import type { Notice } from '../domain/domain-effects.ts';
import type { PermitDeferred } from '../domain/domain-events.ts';
import type { MessageSend } from '../effects.ts';
import { isSaidByOther } from '../said.ts';
import type { IssuerContext, Moment, Waiting } from './issuer-context.ts';
import { turnAt } from './issuer-crowd.ts';
import type { IssuerReport, IssuerStatus } from './issuer-effects.ts';
import { limitedUntil, limitOn } from './issuer-limits.ts';
import { allowedAt, budgetText } from './issuer-queue.ts';
import { type StateWord, sentence } from './issuer-words.ts';

/** What was refused stays refused until a domain that tries it again has a good answer. */
export const isRefused = ({ refusals = 0 }: Pick<IssuerContext, 'refusals'>) => refusals > 0;

const isServing = (context: IssuerContext, word: StateWord) =>
  word === 'ready' || (word === 'trying' && !isRefused(context));

export function noted(context: IssuerContext, word: StateWord, at: number): Partial<IssuerContext> {
  const isReady = isServing(context, word);
  const isSame = context.isReady === isReady && context.readySince !== 0;
  return { isReady, readySince: isSame ? context.readySince : at, mistold: false };
}

const reasons: Readonly<Record<StateWord, string>> = {
  verifying: 'Verifying',
  ready: 'Verified',
  trying: 'Verified',
  rateLimited: 'RateLimited',
  down: 'AuthorityDown',
  invalid: 'InvalidSpec',
  refused: 'Refused',
};

function statusOf(context: IssuerContext, word: StateWord): IssuerStatus {
  const { readySince, limitedUntil: until, outageSince, account } = context;
  const isReady = isServing(context, word);
  return {
    rateLimitedUntil: until,
    outageSince,
    ...(account == null ? {} : { accountUrl: account }),
    conditions: [
      {
        type: 'Ready',
        status: isReady ? 'True' : 'False',
        reason: word === 'trying' && !isReady ? reasons.refused : reasons[word],
        message: sentence(context, word),
        since: readySince,
      },
    ],
  };
}

/** What a status says, in short, as it is written or as the object has it: without words. */
export function saidIn(said: {
  readonly generation: unknown;
  /** As Kubernetes writes times. */
  readonly rateLimitedUntil: unknown;
  readonly status: unknown;
  readonly reason: unknown;
}): string {
  const { generation, rateLimitedUntil = null, status, reason } = said;
  return checksum(JSON.stringify([generation, rateLimitedUntil, status, reason]));
}

/** Whether the object says what was not reported in this state. */
export function isMistold({ context, event }: Moment, word: StateWord): boolean {
  const { facts } = context;
  if (event.type !== 'issuer.status.observed' || facts === null) return false;
  const { rateLimitedUntil: until, conditions } = statusOf(context, word);
  const rateLimitedUntil = until === null ? null : kubeTime(until);
  const [status, reason] = [conditions[0]?.status, conditions[0]?.reason];
  const known = saidIn({ generation: facts.generation, rateLimitedUntil, status, reason });
  return isSaidByOther(event.facts, facts.uid, [known], event.at);
}

type Notices = (context: IssuerContext) => Notice;

/** The status, with an Event if there is news. */
export function report(
  { context, event }: Moment,
  { word, notice }: { readonly word: StateWord; readonly notice: Notices | null },
): Omit<IssuerReport, 'type'> {
  return {
    issuer: context.name,
    uid: context.facts?.uid ?? '',
    generation: context.facts?.generation ?? 0,
    status: statusOf(context, word),
    notice: notice?.(context) ?? null,
    at: event.at,
  };
}

const warning =
  (reason: string): Notices =>
  ({ lastError }) => ({ eventType: 'Warning', reason, note: lastError ?? '' });

export const downNotice = warning('AuthorityDown');
export const limitNotice = warning('RateLimited');
export const invalidNotice = warning('InvalidSpec');
export const refusedNotice = warning('NotUsable');
export const readyNotice: Notices = ({ name }) => ({
  eventType: 'Normal',
  reason: 'Verified',
  note: `Issuer ${name} can be used.`,
});

/** Says which question it answers, so that it counts once. */
export function grant({ name, inWork }: IssuerContext, to: ActorId): Omit<MessageSend, 'type'> {
  const question = inWork[to]?.question;
  const answered = question === undefined ? {} : { question };
  return { to: [to], event: { type: 'permit.granted', issuer: name, ...answered } };
}

export type Why = Pick<PermitDeferred, 'reason' | 'until'> & { readonly message: string | null };

export const deferral = (
  { name }: IssuerContext,
  to: ActorId,
  { message, ...why }: Why,
): Omit<MessageSend, 'type'> => ({
  to: [to],
  event: { type: 'permit.deferred', issuer: name, ...why, ...(message === null ? {} : { message }) },
});

/** Whoever asks for this time without an answer is told also that others have their turn before. */
const patienceAskings = 2;

interface Asker {
  readonly domain: ActorId;
  readonly message?: string;
  readonly times?: number;
}

/**
 * Why a domain has to wait; null: it does not, or only for its turn, which mostly comes before it asks again.
 *
 * @param width concurrent orders
 */
export function whyWaiting(
  context: IssuerContext,
  { domain, message = '', times = 0 }: Asker,
  at: number,
  width: number,
): Why | null {
  if (context.inWork[domain] !== undefined) return null;
  const mine = context.queue.find((one) => one.domain === domain);
  if (mine === undefined) return { reason: 'full', until: null, message: null };
  const until = allowedAt(context, mine);
  if (until <= at) {
    const isTold = times >= patienceAskings && Object.keys(context.inWork).length >= width;
    return isTold ? { reason: 'busy', until: null, message: busyText(width) } : null;
  }
  const isLimit = limitedUntil(context, mine) >= until;
  if (isLimit) return { ...limitOn(context, mine, message || null), until: Math.round(until) };
  return {
    reason: 'budget',
    until: Math.round(turnAt(context, mine, at)),
    message: budgetText(context, mine),
  };
}

/** In words that stay true while the domain waits. */
const busyText = (width: number) =>
  width > 1
    ? `${width} orders are in progress, as many as it allows`
    : 'after a limit, an outage or a refusal of its authority one domain tries first';

/** While nobody is served. @param asker who may have a reason of its own */
export function whyAllWait(
  context: IssuerContext,
  reason: PermitDeferred['reason'],
  asker: Pick<Waiting, 'domain' | 'registered'>,
  at: number,
): Why {
  const own = reason === 'notReady' && context.lastError === null ? limitedUntil(context, asker) : 0;
  if (own > at) return { ...limitOn(context, asker, null), until: Math.round(own) };
  return {
    reason,
    until: reason === 'rateLimited' ? context.limitedUntil : null,
    message: context.lastError,
  };
}
