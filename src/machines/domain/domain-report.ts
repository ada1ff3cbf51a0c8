/** What people are told of a domain: its status and the Events about its sources. Pure. */
import type { DomainContext, Held, Moment } from './domain-context.ts';
import { renewAt } from './domain-context.ts';
import type { DomainReport, DomainStatus, Notice, StatusCondition } from './domain-effects.ts';
import type { DomainIssuer } from './domain-facts.ts';

const issuingPhases = ['waitingForPermit', 'ordering', 'authorizing', 'finalizing', 'storing'];

/** The conditions as they are in a state; the time of a change is that of the event that brought it. */
export function entered(context: DomainContext, phase: string, at: number): Partial<DomainContext> {
  const isReady = context.certificate !== null && context.certificate.notAfter > at;
  return {
    phase,
    told: isSilent(phase) ? context.told : toldOf(phase, context),
    ready: held(context.ready, isReady, at),
    issuing: held(context.issuing, issuingPhases.includes(phase), at),
  };
}

/** A look that finds all as it was is nobody's business. */
const isSilent = (phase: string) => phase === 'checkingStored';
const toldOf = (phase: string, { certificate }: DomainContext) =>
  `${phase} ${certificate?.fingerprint.slice(0, 8) ?? ''}`;

/** Whether people know already that this very certificate is valid. */
export const isToldValid = (context: DomainContext) => context.told === toldOf('valid', context);

function held(before: Held, is: boolean, at: number): Held {
  return before.is === is && before.since !== 0 ? before : { is, since: at };
}

export function statusOf(context: DomainContext): DomainStatus {
  const { phase, certificate, window, failures, lastError, nextAttempt } = context;
  return {
    state: phase,
    notBefore: certificate?.notBefore ?? null,
    notAfter: certificate?.notAfter ?? null,
    renewAt: certificate === null ? null : renewAt(certificate, window),
    failures,
    lastError,
    nextAttempt,
    conditions: [readyCondition(context), issuingCondition(context)],
  };
}

function readyCondition(context: DomainContext): StatusCondition {
  const { is, since } = context.ready;
  return {
    type: 'Ready',
    status: is ? 'True' : 'False',
    reason: is ? 'CertificateValid' : (reasons[context.phase] ?? 'NotIssuedYet'),
    message: is ? 'a certificate is stored and in its time' : messageOf(context),
    since,
  };
}

const reasons: Readonly<Record<string, string>> = {
  waitingForIssuer: 'NoIssuer',
  backingOff: 'Refused',
  rateLimited: 'RateLimited',
  issuerDown: 'IssuerDown',
  failed: 'Failed',
};

function issuingCondition(context: DomainContext): StatusCondition {
  const { is, since } = context.issuing;
  const { phase } = context;
  return {
    type: 'Issuing',
    status: is ? 'True' : 'False',
    reason: phase.charAt(0).toUpperCase() + phase.slice(1),
    message: is ? messageOf(context) : '',
    since,
  };
}

function messageOf({ phase, facts, lastError, deferral }: DomainContext): string {
  if (phase === 'waitingForIssuer') return facts?.issuerMissing ?? '';
  if (phase === 'waitingForPermit' && deferral !== null) return deferralText(facts?.issuer ?? null, deferral);
  return lastError ?? 'a certificate is being obtained';
}

const deferrals: Readonly<Record<string, string>> = {
  budget: 'has used up its budget',
  rateLimited: 'was asked by the authority to wait',
  down: 'cannot reach its authority',
  notReady: 'is not ready',
  full: 'has too many domains waiting',
};

export function deferralText(issuer: DomainIssuer | null, { reason }: { readonly reason: string }): string {
  return `Issuer ${issuer?.name ?? ''} ${deferrals[reason] ?? reason}`;
}

/** @param notice built from the moment, or null */
export function report(
  { context, event }: Moment,
  params: { readonly notice: ((moment: Moment) => Notice) | null },
): Omit<DomainReport, 'type'> {
  return {
    host: context.host,
    sources: context.facts?.sources ?? [],
    status: statusOf(context),
    notice: params.notice?.({ context, event }) ?? null,
    at: event.at,
  };
}

export const issuedNotice = ({ context }: Moment): Notice => ({
  eventType: 'Normal',
  reason: 'CertificateIssued',
  note: `A certificate for ${context.host} is stored; it ends ${dateText(context.certificate?.notAfter)}.`,
});

export const failedNotice = ({ context }: Moment): Notice => ({
  eventType: 'Warning',
  reason: 'CertificateFailed',
  note: `No certificate for ${context.host}: ${context.lastError ?? ''}${
    context.nextAttempt === null ? '' : ` Next attempt ${dateText(context.nextAttempt)}.`
  }`,
});

export const limitedNotice = ({ context }: Moment): Notice => ({
  eventType: 'Warning',
  reason: 'RateLimited',
  note: `The authority asked to wait: ${context.lastError ?? ''}`,
});

export const foreignNotice = ({ context }: Moment): Notice => ({
  eventType: 'Warning',
  reason: 'SecretNotOurs',
  note: foreignText(context),
});

export function foreignText({ foreign }: Pick<DomainContext, 'foreign'>): string {
  const names = foreign.map(({ namespace, secretName }) => `${namespace}/${secretName}`).join(', ');
  return `Secret ${names} exists without the label orrery.dev/domain and is not overwritten.`;
}

/** `2026-01-31 12:00 UTC`; pure, unlike what a locale makes of it. */
function dateText(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return 'at an unknown time';
  const text = new Date(ms).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, 16)} UTC`;
}
