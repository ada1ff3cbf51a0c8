/** What people are told about a domain: its status, and the Events about its sources. Pure. */
import { kubeTime } from '../../base/kube-time.ts';
import { checksum } from '../checksum.ts';
import { isSaidByOther } from '../said.ts';
import type { DomainContext, Held, Moment } from './domain-context.ts';
import type { DomainReport, DomainStatus, Notice, StatusCondition } from './domain-effects.ts';
import type { AcquisitionFailed } from './domain-events.ts';
import type { DomainSource } from './domain-facts.ts';
import { foreignText as foreignSecretText, lackingIn, takenText } from './domain-lacking.ts';
import { isInTime, renewAt } from './domain-schedule.ts';
import { dateText, isAttempt, refusalReason, type StateWord, sentence } from './domain-words.ts';
import { leftoversText, removersText, sweepsMax } from './exhibit-steps.ts';

const isIssuing = (word: StateWord) => word === 'waitingForPermit' || isAttempt(word);

/** The conditions in a state; a change's time is that of the event that caused it. */
export function noted(context: DomainContext, word: StateWord, at: number): Partial<DomainContext> {
  const isLacking = lackingIn(context).length > 0;
  return {
    told: toldOf(word, context),
    mistold: false,
    ready: held(context.ready, isInTime(context, at), at),
    issuing: held(context.issuing, isIssuing(word), at),
    lackingSince: isLacking ? context.lackingSince || at : 0,
  };
}

/**
 * What people have been told: the state, the certificate, which sources know it, in what form they asked, and
 * whose Secret lacks it.
 */
function toldOf(word: StateWord, context: DomainContext): string {
  const { certificate, facts, lastError } = context;
  const lacking = lackingIn(context);
  const asking = (sources: readonly DomainSource[] = []) =>
    sources.map(({ uid, generation }) => `${uid}/${generation}`);
  const known = [asking(facts?.sources), asking(facts?.refused), lastError];
  const rest = JSON.stringify(lacking.length === 0 ? known : [...known, lacking]);
  return `${word} ${certificate?.fingerprint.slice(0, 8) ?? ''} ${checksum(rest)}`;
}

/**
 * Whether people already know that this certificate is valid: an inspection without changes tells nobody.
 */
export const isToldValid = (context: DomainContext) =>
  context.told === toldOf('valid', { ...context, lastError: lastingError(context) });

/** Earlier errors no longer count, except why a Secret lacks the certificate, as long as it does. */
export const lastingError = ({ missing, lastError }: DomainContext) =>
  missing.length === 0 ? null : lastError;

function held(before: Held, is: boolean, at: number): Held {
  return before.is === is && before.since !== 0 ? before : { is, since: at };
}

/** States that wait until a time of their own. */
const heldWords: readonly StateWord[] = ['backingOff', 'rateLimited', 'issuerDown', 'failed'];

export function statusOf(context: DomainContext, word: StateWord, at: number): DomainStatus {
  const { certificate, window, failures, lastError, nextAttempt } = context;
  return {
    state: word,
    notBefore: certificate?.notBefore ?? null,
    notAfter: certificate?.notAfter ?? null,
    renewAt: certificate === null ? null : renewAt(certificate, window),
    failures,
    lastError,
    // In the queue the Issuer decides; an earlier waiting time is over.
    nextAttempt: heldWords.includes(word) ? nextAttempt : null,
    conditions: [readyCondition(context, word, at), issuingCondition(context, word, at)],
  };
}

function readyCondition(context: DomainContext, word: StateWord, at: number): StatusCondition {
  const { is, since } = held(context.ready, isInTime(context, at), at);
  const message = sentence(context, is ? 'valid' : word, at);
  if (is) return { type: 'Ready', status: 'True', reason: 'CertificateValid', message, since };
  const reason = context.certificate === null ? reasonOf(context, word) : 'Expired';
  return { type: 'Ready', status: 'False', reason, message, since };
}

const reasons: Partial<Readonly<Record<StateWord, string>>> = {
  waitingForIssuer: 'NoIssuer',
  rateLimited: 'RateLimited',
  issuerDown: 'IssuerDown',
  failed: 'Failed',
};

function reasonOf(context: DomainContext, word: StateWord): string {
  const isNowhere = word === 'failed' && (context.facts?.targets.length ?? 0) <= context.foreign.length;
  if (isNowhere) return 'SecretNotOurs';
  if (word === 'backingOff' && context.issued !== null) return 'SecretNotWritten';
  if (word === 'backingOff' && context.failures > 0) return 'Refused';
  return reasons[word] ?? 'NotIssuedYet';
}

function issuingCondition(context: DomainContext, word: StateWord, at: number): StatusCondition {
  const { is, since } = held(context.issuing, isIssuing(word), at);
  return {
    type: 'Issuing',
    status: is ? 'True' : 'False',
    reason: word.charAt(0).toUpperCase() + word.slice(1),
    message: is ? sentence({ ...context, certificate: null }, word, at) : '',
    since,
  };
}

type Notices = (moment: Moment) => Notice | null;

/** @param notice makes the Event from the moment */
export function report(
  { context, event }: Moment,
  { word, notice }: { readonly word: StateWord; readonly notice: Notices | null },
): Omit<DomainReport, 'type'> {
  return {
    host: context.host,
    sources: context.facts?.sources ?? [],
    refused: context.facts?.refused ?? [],
    status: statusOf(context, word, event.at),
    ...lackingConditions(context, event.at),
    notice: notice?.({ context, event }) ?? null,
    at: event.at,
  };
}

/** For sources that would be told `Ready` although their own Secret lacks the certificate. */
function lackingConditions(context: DomainContext, at: number): Pick<DomainReport, 'lacking'> {
  const lacking = isInTime(context, at) ? lackingIn(context) : [];
  if (lacking.length === 0) return {};
  const since = context.lackingSince || at;
  const condition = { type: 'Ready', status: 'False', since } as const;
  return { lacking: Object.fromEntries(lacking.map(({ uid, ...why }) => [uid, { ...condition, ...why }])) };
}

/** A copy of a known certificate makes no Event. */
export const issuedNotice: Notices = ({ context }) =>
  context.storeFrom === 'stored'
    ? null
    : {
        eventType: 'Normal',
        reason: 'CertificateIssued',
        note: `A certificate for ${context.host} is stored; it expires ${dateText(context.certificate?.notAfter)}.`,
      };

/**
 * For an attempt that the authority refused; an outage of Kubernetes makes no Event. And for objects that
 * meet the wait that others have earned (§7.8).
 */
export const refusedNotice: Notices = (moment) => {
  const { event, context } = moment;
  const isMet = context.told === '' && context.failures > 0;
  return isMet || (event.type === 'acquisition.failed' && isRefusal(event, context))
    ? failedNotice(moment)
    : null;
};

/** An order that did not end in time is refused at last, and is not kept. */
const isRefusal = ({ outcome }: AcquisitionFailed, { order }: DomainContext) =>
  outcome === 'refused' || (outcome === 'unfinished' && order === null);

/** Once for each reason: an inspection with the same result makes no Event. */
export const hopelessNotice: Notices = (moment) => {
  if (moment.context.told === toldOf('failed', moment.context)) return null;
  const reason =
    reasonOf(moment.context, 'failed') === 'SecretNotOurs' ? 'SecretNotOurs' : 'CertificateFailed';
  return { ...failedNotice(moment), reason };
};

const failedNotice = ({ context }: Moment): Notice => ({
  eventType: 'Warning',
  reason: 'CertificateFailed',
  note: `No certificate for ${context.host}: ${(context.lastError ?? '').replace(/\.$/, '')}.${
    context.nextAttempt === null ? '' : ` Next attempt ${dateText(context.nextAttempt)}.`
  }`,
});

export const limitedNotice: Notices = ({ context, event }) =>
  event.type === 'acquisition.failed'
    ? {
        eventType: 'Warning',
        reason: 'RateLimited',
        note: `The authority is rate limiting: ${context.lastError ?? ''}`,
      }
    : null;

/** Objects of a challenge could not be removed: told once, however often it is tried. */
export const leftNotice: Notices = ({ context, event }) =>
  event.type === 'challenge.cleared' && context.sweeps === 1
    ? {
        eventType: 'Warning',
        reason: 'ChallengeLeft',
        note: `${leftoversText(context)} could not be removed after the challenge: ${event.message} Removal will be retried.`,
      }
    : null;

/** What is removed no more, and by whom it is. */
export const givenUpNotice: Notices = ({ context, event }) => ({
  eventType: 'Warning',
  reason: 'ChallengeLeft',
  note: `${leftoversText(context)} could not be removed in ${sweepsMax} attempts${
    event.type === 'challenge.cleared' && event.message !== '' ? ` (${event.message.slice(0, 300)})` : ''
  }. ${removersText(context)}`,
});

/** The same for a host that nobody asks for any more: whoever asked last hears it, also if it is gone. */
export const lastReport = (moment: Moment): Omit<DomainReport, 'type'> => ({
  ...report(moment, { word: 'waitingForIssuer', notice: givenUpNotice }),
  sources: moment.context.lastAsker ? [moment.context.lastAsker] : [],
});

/** Why no requested Secret may be written. */
export function foreignText({ foreign, facts }: Pick<DomainContext, 'foreign' | 'facts'>): string {
  const taken = (facts?.taken ?? []).map(({ namespace, secretName, by }) =>
    takenText(`${namespace}/${secretName}`, by),
  );
  const names = foreign.map(({ namespace, secretName }) => `${namespace}/${secretName}`).join(', ');
  const others = names === '' ? [] : [foreignSecretText(names)];
  return `${[...taken, ...others].join('; ')}.`;
}

/**
 * What the status of a Domain says, in short: as its host's actor wrote it, or as the object has it
 * (docs/features/certificates.md §9.5). The steps of an attempt are not distinguished: they take minutes,
 * each is told, and a hundred thousand of them would be as many messages to the world.
 */
interface Said {
  readonly generation: unknown;
  readonly state: unknown;
  /** As Kubernetes writes times. */
  readonly notAfter: unknown;
  /** Of the condition `Ready`. */
  readonly status: unknown;
  readonly reason: unknown;
}

export function saidIn({ generation, state, notAfter = null, status, reason }: Said): string {
  return isAttempt(state)
    ? 'attempt'
    : checksum(JSON.stringify([generation, state, notAfter, status, reason]));
}

/** Whether the status of an object that asks says what people were not told. */
export function isMistold(moment: Moment): boolean {
  const { event, context } = moment;
  if (event.type !== 'domain.status.observed' || event.facts === null) return false;
  const word = wordTold(context.told);
  if (word === '' || isAttempt(word)) return false;
  const known = saidTo(moment, word as StateWord);
  return event.facts.some((one) => isSaidByOther(one, one.uid, [known.get(one.uid) ?? one.said], event.at));
}

/** What people were told last; empty: nothing that still counts. */
const wordTold = (told: string) => told.slice(0, told.indexOf(' '));

/** What each object was told, by uid. */
function saidTo(moment: Moment, word: StateWord): ReadonlyMap<string, string> {
  const { sources, refused = [], status, lacking = {} } = report(moment, { word, notice: null });
  const notAfter = status.notAfter === null ? null : kubeTime(status.notAfter);
  const [ready] = status.conditions;
  const told = sources.map(({ uid, generation }) => {
    const { status: is, reason } = lacking[uid] ?? ready ?? {};
    return [uid, saidIn({ generation, state: status.state, notAfter, status: is, reason })] as const;
  });
  const refusal = { state: 'refused', notAfter: null, status: 'False', reason: refusalReason };
  const denied = refused.map(({ uid, generation }) => [uid, saidIn({ generation, ...refusal })] as const);
  return new Map([...told, ...denied]);
}
