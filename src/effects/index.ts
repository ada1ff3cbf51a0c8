/**
 * The table of effects: which runner does what, and how long it may take.
 */
import type { LookupFunction } from 'node:net';

import type { ChallengeParts } from '../acme/challenge.ts';
import type { Bus } from '../bus/bus.ts';
import type { Subjects } from '../bus/subjects.ts';
import type { Clock } from '../clock.ts';
import type { EffectContext, EffectRunner, EffectRunners } from '../effect-runner.ts';
import type { KubePort } from '../kube/port.ts';
import { limits } from '../limits.ts';
import type { Effect, RouteSample } from '../machines/effects.ts';
import type { ActorEvent } from '../machines/events.ts';
import type { ProbeLimiter } from '../probe/limiter.ts';
import { createAcmeAccounts, type IssuerLookup } from './acme-accounts.ts';
import { acmeAuthorize } from './acme-authorize.ts';
import { acmeFinalize } from './acme-finalize.ts';
import { acmeOrder } from './acme-order.ts';
import { ariFetch } from './ari-fetch.ts';
import { createAuthorities } from './certificate-authorities.ts';
import { certificateInspect } from './certificate-inspect.ts';
import { domainReport, issuerReport } from './certificate-reports.ts';
import { certificateStore } from './certificate-store.ts';
import { issuerVerify } from './issuer-verify.ts';
import { kubeEventWrite } from './kube-event.ts';
import { messageSend } from './message-send.ts';
import { pendingDiscard } from './pending-discard.ts';
import { podConditionPatch } from './pod-condition.ts';
import { routeSample } from './route-sample.ts';

export function effectRunners(parts: {
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly kube: KubePort;
  readonly clock: Clock;
  readonly limiter: ProbeLimiter;
  readonly replica: string;
  /** How probes resolve names; the system's way if absent. */
  readonly lookup?: LookupFunction;
  readonly certificates: CertificateParts;
}): EffectRunners {
  const { bus, subjects, kube, clock, limiter, replica, lookup } = parts;
  return {
    'message.send': messageSend(bus, subjects),
    'pod-condition.patch': podConditionPatch(kube),
    'kube-event.write': kubeEventWrite(kube, { replica }),
    'route.sample': routeSample({ limiter, clock, ...(lookup === undefined ? {} : { lookup }) }),
    ...certificateRunners(parts),
  };
}

/** What certificates need beside Kubernetes. */
export interface CertificateParts extends Omit<ChallengeParts, 'clock'> {
  readonly issuerOf: IssuerLookup;
}

function certificateRunners(parts: {
  readonly kube: KubePort;
  readonly clock: Clock;
  readonly replica: string;
  readonly certificates: CertificateParts;
}) {
  const { kube, clock, replica } = parts;
  const own = { ...parts.certificates, kube, clock, replica };
  const accounts = createAcmeAccounts(own);
  const authorities = createAuthorities(own);
  return {
    'certificate.inspect': certificateInspect(kube),
    'acme.order': acmeOrder(accounts, clock),
    'acme.authorize': acmeAuthorize(accounts, own),
    'acme.finalize': acmeFinalize(accounts, own),
    'certificate.store': certificateStore({ kube, clock, authorities }),
    'ari.fetch': ariFetch(accounts, own),
    'pending.discard': pendingDiscard(kube),
    'domain.report': domainReport(own),
    'issuer.verify': issuerVerify({ ...own, accounts, authorities }),
    'issuer.report': issuerReport(own),
  };
}

/** The runner of whatever effect it is. */
export function runEffectWith(runners: EffectRunners) {
  return (effect: { readonly type: string }, context: EffectContext): Promise<ActorEvent> => {
    const known = effect as Effect;
    const run = runners[known.type] as EffectRunner<Effect>;
    return run(known, context);
  };
}

/** Longest time that an effect may take, ms. A round of calls is bounded by its calls, three of them at a time. */
export function effectTimeoutMs(effect: { readonly type: string }): number {
  const own = timeoutsMs[effect.type];
  if (own !== undefined) return own;
  if (effect.type !== 'route.sample') return limits.effectTimeoutMs;
  const { calls, probe } = effect as RouteSample;
  return 4_000 + Math.ceil(calls / 3) * probe.timeoutMs;
}

/** Effects that wait for others longer than most. */
const timeoutsMs: Readonly<Record<string, number>> = {
  'acme.order': limits.acmeOrderMs,
  'acme.authorize': limits.acmeAuthorizeMs,
  'acme.finalize': limits.acmeFinalizeMs,
  'issuer.verify': limits.issuerVerifyMs,
};
