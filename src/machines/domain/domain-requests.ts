/**
 * What a domain requests of its Issuer and of its effects: the parameters, computed from the context. Pure.
 */
import type { ActorId } from '../../base/ids.ts';
import type { MessageSend } from '../effects.ts';
import { type DomainContext, type Moment, pendingPlace, usable } from './domain-context.ts';
import type {
  AcmeAuthorize,
  AcmeFinalize,
  AcmeOrder,
  AriFetch,
  CertificateInspect,
  CertificateStore,
  ChallengeClear,
  ChallengePlan,
  PendingDiscard,
} from './domain-effects.ts';
import type { AcquisitionFailed, PermitOutcome, PermitReturned } from './domain-events.ts';
import type { DomainSource, Target } from './domain-facts.ts';
import { isSuggested, limitMs, renewAt } from './domain-schedule.ts';
import { isOverdue } from './domain-steps.ts';

const self = ({ host }: DomainContext): ActorId => `domain/_/${host}`;

const asking = (context: DomainContext, at: number) => ({
  domain: self(context),
  registered: context.facts?.registered ?? context.host,
  // What an earlier attempt has counted in full is not counted twice.
  exempt: isSuggested(context, at) || context.order?.counted === 'certificate',
  namespace: context.facts?.owner ?? '',
  ...renewing(context, at),
  question: context.question,
  ...(context.waitsSince > 0 ? { since: context.waitsSince } : {}),
});

/** Whether it is a renewal that is due, and when the certificate ends: what people force goes no faster. */
function renewing({ certificate, window }: DomainContext, at: number) {
  if (certificate === null || at < renewAt(certificate, window)) return { due: false };
  return { due: true, ends: certificate.notAfter };
}

/** The number of the question that follows: higher, also when the domain begins anew. */
export const nextQuestion = ({ question }: DomainContext, at: number) => Math.max(at, question + 1);

/** Asks the Issuer for a permit. */
export function question({ context, event }: Moment): Omit<MessageSend, 'type'> {
  const { facts } = context;
  return {
    to: facts?.issuer ? [`issuer/_/${facts.issuer.name}`] : [],
    event: { type: 'permit.asked', ...asking(context, event.at), times: context.askings },
  };
}

type Given = Pick<PermitReturned, 'outcome' | 'again' | 'ordered'> &
  Partial<Pick<PermitReturned, 'question' | 'late'>>;

/** Returns a permit, or the place in the queue. @param issuer to which it belongs */
export function returned(
  { context, event }: Moment,
  issuer: string,
  { outcome, again, ...given }: Given,
): Omit<MessageSend, 'type'> {
  const failed = event.type === 'acquisition.failed' ? event : null;
  const { scope = 'unknown', message = '', retryAfterMs = null, refusedSpec } = failed ?? {};
  const isTrouble = outcome === 'rateLimited' || outcome === 'down' || outcome === 'unusable';
  return {
    to: [`issuer/_/${issuer}`],
    event: {
      type: 'permit.returned',
      ...asking(context, event.at),
      outcome,
      ...given,
      waitMs: outcome === 'rateLimited' ? limitMs(retryAfterMs, event.random) : 0,
      again,
      ...(again ? { next: nextQuestion(context, event.at) } : {}),
      ...(outcome === 'rateLimited' ? { scope } : {}),
      ...(isTrouble && message !== '' ? { message } : {}),
      ...(refusedSpec === undefined ? {} : { refusedSpec }),
    },
  };
}

const outcomes: Readonly<Record<AcquisitionFailed['outcome'], Given>> = {
  refused: { outcome: 'refused', again: false },
  hopeless: { outcome: 'refused', again: false },
  rateLimited: { outcome: 'rateLimited', again: true },
  down: { outcome: 'down', again: true },
  unusable: { outcome: 'unusable', again: true },
  cluster: { outcome: 'unused', again: false },
  foreign: { outcome: 'unused', again: false },
  unwritable: { outcome: 'unused', again: false },
  unfinished: { outcome: 'unused', again: false },
};

/** The question that a grant answers although it had ended; null: it is none such. */
export function lateQuestionIn({ context, event }: Moment): number | null {
  const question = event.type === 'permit.granted' ? event.question : undefined;
  return question === undefined || question === context.question ? null : question;
}

/** How the permit was used, by the event that ends the attempt: docs/features/certificates.md §5.3. */
export function outcomeOf({ context, event }: Moment): Given {
  const given = unissued({ context, event });
  const isIssued = context.issued !== null || (event.type === 'acquisition.failed' && event.issued === true);
  if (isIssued) return { outcome: 'issued', again: given.again };
  // The order that is on its way may be made yet; one of an earlier attempt was counted then.
  const { order } = context;
  const isOrdered = order === null ? event.type !== 'acquisition.failed' : order.counted === undefined;
  return isOrdered && isUnused(given.outcome) ? { ...given, ordered: true } : given;
}

const isUnused = (outcome: PermitOutcome) => outcome === 'unused' || outcome === 'unusable';

function unissued({ context, event }: Moment): { readonly outcome: PermitOutcome; readonly again: boolean } {
  if (event.type === 'certificate.stored') return { outcome: 'issued', again: false };
  if (event.type === 'acquisition.failed') {
    const given = outcomes[event.outcome];
    return isOverdue({ context, event }) ? { ...given, again: false } : given;
  }
  // A step at the authority that ended without an answer.
  const isSilence = /^xstate\.after\.(?:order|plan|authorize|finalize)Patience\b/.test(event.type);
  return isSilence ? { outcome: 'down', again: true } : { outcome: 'unused', again: false };
}

const place = (context: DomainContext): Target =>
  context.pendingAt ?? pendingPlace(context) ?? { namespace: '', secretName: '' };

/** The Issuer and the attempt. */
const step = ({ host, facts, attempt }: DomainContext) => ({
  host,
  issuer: facts?.issuer?.name ?? '',
  attempt,
});

/** The object that first named the Secret's namespace; it owns the pending Secret there. */
function sourceAt({ facts }: DomainContext, { namespace }: Target): DomainSource | null {
  return facts?.sources.find((source) => source.namespace === namespace) ?? null;
}

export const inspection = ({ context }: Moment): Omit<CertificateInspect, 'type'> => ({
  host: context.host,
  attempt: context.attempt,
  targets: context.facts?.targets ?? [],
  at: context.facts?.issuer?.kind === 'ca' ? null : place(context),
  known: [context.issued, context.certificate?.fingerprint ?? null].filter((one) => one !== null),
  owner: context.facts?.owner ?? '',
});

export const ordering = ({ context }: Moment): Omit<AcmeOrder, 'type'> => ({
  ...step(context),
  replaces: context.certificate?.ariId ?? null,
});

export const planning = ({ context }: Moment): Omit<ChallengePlan, 'type'> => ({
  ...step(context),
  order: context.order ?? { url: '', expires: 0 },
});

export const authorization = ({ context }: Moment): Omit<AcmeAuthorize, 'type'> => ({
  ...step(context),
  order: context.order ?? { url: '', expires: 0 },
  exhibit: context.showing,
});

export const clearing = ({ host, leftovers }: DomainContext): Omit<ChallengeClear, 'type'> => ({
  host,
  exhibits: leftovers,
});

export const finalization = ({ context }: Moment): Omit<AcmeFinalize, 'type'> => ({
  ...step(context),
  order: context.order ?? { url: '', expires: 0 },
  at: place(context),
  source: sourceAt(context, place(context)),
});

export const storage = ({ context }: Moment): Omit<CertificateStore, 'type'> => ({
  ...step(context),
  from: context.storeFrom,
  targets: usable(context),
  at: place(context),
  fingerprint: fingerprintToStore(context),
  owner: context.facts?.owner ?? '',
});

function fingerprintToStore({ storeFrom, issued, certificate }: DomainContext): string | null {
  if (storeFrom === 'ca') return null;
  return storeFrom === 'pending' ? issued : (certificate?.fingerprint ?? null);
}

export const renewalQuestion = ({ context }: Moment): Omit<AriFetch, 'type'> => ({
  issuer: context.facts?.issuer?.name ?? '',
  fingerprint: context.certificate?.fingerprint ?? '',
  ariId: context.certificate?.ariId ?? '',
});

export const discarding = ({ context }: Moment): Omit<PendingDiscard, 'type'> => ({
  host: context.host,
  at: place(context),
});
