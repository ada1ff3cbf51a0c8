/**
 * The sentences about a domain: what its state means for this host. Used in `orrery get`, in conditions and
 * in Events. Pure.
 */
import type { Deferral, DomainContext } from './domain-context.ts';
import type { DomainIssuer } from './domain-facts.ts';
import { isInTime } from './domain-schedule.ts';

/** The states that people see; the chart's own are nested (docs/features/certificates.md, States). */
export type StateWord =
  | 'waitingForIssuer'
  | 'waitingForPermit'
  | 'ordering'
  | 'authorizing'
  | 'finalizing'
  | 'storing'
  | 'valid'
  | 'backingOff'
  | 'rateLimited'
  | 'issuerDown'
  | 'failed';

/** Why an object has no certificate that asks for another namespace's host. */
export const refusalReason = 'HostOwnedByAnother';

const attempts: readonly unknown[] = ['ordering', 'authorizing', 'finalizing', 'storing'];

/** Whether a state is a step of an attempt. */
export const isAttempt = (word: unknown) => attempts.includes(word);

/** What people are told about a domain in a state, in one sentence. @param at ms since the epoch */
export function sentence(context: DomainContext, word: StateWord, at: number): string {
  const stored = context.certificate === null ? '' : ` ${storedText(context, at)}`;
  return word === 'valid' ? storedText(context, at) : `${stateText(context, word)}${stored}`;
}

export function storedText(context: DomainContext, at: number): string {
  const { host, certificate, missing, lastError } = context;
  if (certificate === null) return `No certificate for ${host} is stored.`;
  const { notAfter } = certificate;
  if (!isInTime(context, at)) return `The certificate expired ${dateText(notAfter)}.`;
  const until = `it expires ${dateText(notAfter)}${nearText(notAfter - at)}`;
  const ends = `A certificate for ${host} is stored; ${until}.${suggestionText(context)}`;
  if (missing.length === 0) return ends;
  const places = missing.map(({ namespace, secretName }) => `${namespace}/${secretName}`).join(', ');
  return `${ends} Secret ${places} lacks it${lastError === null ? '' : `: ${lastError}`}.`;
}

/** Authorities explain a suggestion when it is about an incident, such as certificates to be revoked. */
const suggestionText = ({ window }: DomainContext): string =>
  window?.why === undefined
    ? ''
    : ` The authority suggests renewing it by ${dateText(window.end)} (why: ${window.why}).`;

/** About the state alone, whatever is stored. */
function stateText(context: DomainContext, word: StateWord): string {
  const { host, facts, deferral } = context;
  const issuer = `Issuer ${facts?.issuer?.name ?? ''}`;
  const cause = causeOf(context);
  const why = cause === null ? '' : `: ${withoutDot(cause)}`;
  switch (word) {
    case 'waitingForIssuer':
      return `${host} waits for an Issuer: ${withoutDot(facts?.issuerMissing || `no Issuer allows ${host}`)}.`;
    case 'waitingForPermit':
      if (deferral !== null)
        return `${withoutDot(deferralText(facts?.issuer ?? null, deferral))}; ${host} waits${untilText(deferral)}.`;
      return `${host} waits for its turn at ${issuer}.`;
    case 'ordering':
      return `A certificate for ${host} is being ordered from ${issuer}.`;
    case 'authorizing':
      return `The authority of ${issuer} is validating ${host} by ${facts?.issuer?.challenge ?? 'a challenge'}.`;
    case 'finalizing':
      return `The authority of ${issuer} is issuing the certificate for ${host}.`;
    case 'storing':
      return `The certificate for ${host} is being written into ${secretsText(context)}.`;
    case 'backingOff':
      return `${troubleText(context, issuer)}${why}.`;
    case 'rateLimited':
      return `The authority of ${issuer} is rate limiting ${host}${why}.`;
    case 'issuerDown':
      return `The authority of ${issuer} cannot be reached for ${host}${why}.`;
    default:
      return `No certificate for ${host} can be issued as things are${why}.`;
  }
}

/** The cause alone: what the Issuer said begins with what the sentence about the state says already. */
function causeOf({ facts, lastError, deferral }: DomainContext): string | null {
  const isOfIssuer = deferral !== null && lastError === deferralText(facts?.issuer ?? null, deferral);
  return isOfIssuer ? deferral.message || null : lastError;
}

/** What failed; without a refusal it was Kubernetes, or the authority takes its time. */
function troubleText({ host, certificate, issued, failures }: DomainContext, issuer: string): string {
  if (issued !== null) return `The certificate for ${host} is issued but not stored`;
  if (failures === 0) return `There is no ${certificate === null ? '' : 'new '}certificate for ${host} yet`;
  const times = failures > 1 ? ` ${failures} times in a row` : '';
  return `No certificate for ${host} could be obtained from ${issuer}${times}`;
}

/** What a host that nobody asks for remembers, for whoever asks again: docs/features/certificates.md §7.8. */
export function rememberedText({ formerly, nextAttempt, lastError }: DomainContext, at: number): string {
  if (formerly == null) return '';
  const why = lastError === null ? '' : `: ${withoutDot(lastError)}`;
  const wait =
    nextAttempt !== null && nextAttempt > at
      ? `whoever asks for it again waits until ${dateText(nextAttempt)}`
      : 'it is remembered for a while, and counts if somebody asks for it again';
  return ` The last attempt failed${why}; ${wait}.`;
}

const secretsText = ({ facts }: DomainContext) =>
  (facts?.targets ?? []).map(({ namespace, secretName }) => `Secret ${namespace}/${secretName}`).join(', ');

const withoutDot = (text: string) => text.replace(/\.+$/, '');

const deferrals: Readonly<Record<string, string>> = {
  budget: 'has used up its budget',
  rateLimited: 'is rate limited by its authority',
  down: 'cannot reach its authority',
  notReady: 'is not ready',
  full: 'has too many domains waiting',
  busy: 'is busy',
};

/** When its turn comes, or when it asks again: what is told stays true until then. */
function untilText({ reason, until }: Pick<Deferral, 'reason' | 'until'>): string {
  if (until === null) return '';
  if (reason === 'budget') return `; its turn comes at about ${dateText(until)}`;
  if (reason === 'notReady') return `; it tries again at ${dateText(until)}`;
  return reason === 'full' ? `; it asks again at ${dateText(until)}` : '';
}

/** With the Issuer's own reason, if it has one: docs/features/certificates.md §9.3. */
export function deferralText(
  issuer: DomainIssuer | null,
  { reason, message }: { readonly reason: string; readonly message?: string | null },
): string {
  const text = `Issuer ${issuer?.name ?? ''} ${deferrals[reason] ?? reason}`;
  return message == null || message === '' ? text : `${text}: ${message}`;
}

/** `2026-01-31 12:00 UTC`; pure, unlike locale-dependent formats. */
export function dateText(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return 'at an unknown time';
  const text = new Date(ms).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, 16)} UTC`;
}

/** Thresholds of the wording before expiry, ms. */
const nearing = [
  ['an hour', 3_600_000],
  ['a day', 24 * 3_600_000],
  ['7 days', 7 * 24 * 3_600_000],
] as const;

/** The time until expiry, in words that stay true until people are told again (`expiryInMs`). */
function nearText(ms: number): string {
  const near = nearing.find(([, span]) => ms <= span);
  return near === undefined ? '' : `, in less than ${near[0]}`;
}
