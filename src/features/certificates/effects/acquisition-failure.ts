/**
 * What an exception means for the attempt: the only place that sorts errors of authorities, Kubernetes and
 * NATS into the domain chart's outcomes.
 */
import type { EffectRunner, RunnableEffect } from '../../../actors/effect-runner.ts';
import { asError, hasCode, OrreryError, retryAfterOf } from '../../../base/errors.ts';
import type {
  AcquisitionFailed,
  FailureOutcome,
  LimitScope,
} from '../../../machines/domain/domain-events.ts';

/**
 * Runs a part of an acquisition and turns its exceptions into outcomes, unless the effect itself was aborted.
 */
export function acquiring<E extends { readonly type: string; readonly attempt: number }>(
  run: EffectRunner<E>,
): EffectRunner<E> {
  return async (effect, context) => {
    try {
      return await run(effect, context);
    } catch (thrown) {
      context.signal.throwIfAborted();
      return acquisitionFailed(effect.attempt, thrown);
    }
  };
}

export function acquisitionFailed(attempt: number, thrown: unknown): AcquisitionFailed {
  const facts = thrown instanceof OrreryError ? thrown.facts : {};
  const { orderLost, issued, refusedSpec } = facts;
  const outcome = outcomeOf(thrown);
  // Not every authority, nor what is in front of it, says so in a problem document.
  const isUnknown = facts.status === 404 && (outcome === 'refused' || outcome === 'down');
  return {
    type: 'acquisition.failed',
    attempt,
    outcome,
    message: asError(thrown).message.slice(0, 500),
    retryAfterMs: retryAfterOf(thrown),
    orderLost: orderLost === true || isUnknown,
    ...(issued === true ? { issued } : {}),
    ...(outcome === 'rateLimited' ? { scope: scopeIn(facts.scope) } : {}),
    ...(typeof refusedSpec === 'string' ? { refusedSpec } : {}),
  };
}

const scopeIn = (scope: unknown): LimitScope =>
  scope === 'host' || scope === 'domain' || scope === 'account' ? scope : 'unknown';

function outcomeOf(thrown: unknown): FailureOutcome {
  if (!(thrown instanceof OrreryError)) return 'refused';
  switch (thrown.code) {
    case 'ACME_LIMITED':
      return 'rateLimited';
    case 'ACME_UNREACHABLE':
      return 'down';
    case 'ACME_REFUSED':
      return thrown.facts.hopeless === true ? 'hopeless' : 'refused';
    case 'CERTIFICATE_UNUSABLE':
      return thrown.facts.issuer === true ? 'unusable' : 'refused';
    // Comes from writing Secrets, never from the authority: a quota, a webhook, missing permissions.
    case 'KUBE_REFUSED':
    case 'KUBE_NOT_FOUND':
      return 'unwritable';
    default:
      return thrown.kind === 'transient' ? 'cluster' : 'refused';
  }
}

/**
 * Says which replica found the Issuer unusable: others may find it good, because they have another clock,
 * network or mount. What the authority itself refuses, it refuses to all.
 */
export const signedBy = (replica: string, effects: readonly RunnableEffect[]): readonly RunnableEffect[] =>
  effects.map(({ type, run }) => ({
    type,
    async run(effect, context) {
      const told = await run(effect, context);
      const isUnusable =
        told.type === 'acquisition.failed' && told.outcome === 'unusable' && told.refusedSpec === undefined;
      return isUnusable ? { ...told, message: `${told.message} (found by replica ${replica})` } : told;
    },
  }));

/** Whether an authority that was reached took too long: what it was asked for may have happened. */
export const isUnanswered = (thrown: unknown) =>
  hasCode(thrown, 'ACME_UNREACHABLE') && thrown.facts.timedOut === true;

/**
 * The Issuer itself is unusable, for every host: nothing counts against the host.
 *
 * @param refusedSpec as in AcquisitionFailed
 */
export const unusableIssuer = (text: string, refusedSpec?: string) =>
  new OrreryError('CERTIFICATE_UNUSABLE', text, {
    facts: { issuer: true, ...(refusedSpec === undefined ? {} : { refusedSpec }) },
  });
