/**
 * The table of effects: which runner does what, and how long it may take.
 */
import type { LookupFunction } from 'node:net';
import type { EffectContext, EffectRunner, EffectRunners } from '../actors/effect-runner.ts';
import { messageSend } from '../actors/host/message-send.ts';
import type { Clock } from '../base/clock.ts';
import { invariant } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Bus } from '../bus/bus.ts';
import type { Subjects } from '../bus/subjects.ts';
import type { ChallengeParts } from '../features/certificates/acme/challenge.ts';
import { createAcmeAccounts, type IssuerLookup } from '../features/certificates/effects/acme-accounts.ts';
import { acmeAuthorize } from '../features/certificates/effects/acme-authorize.ts';
import { acmeFinalize } from '../features/certificates/effects/acme-finalize.ts';
import { acmeOrder } from '../features/certificates/effects/acme-order.ts';
import { ariFetch } from '../features/certificates/effects/ari-fetch.ts';
import { createAuthorities } from '../features/certificates/effects/certificate-authorities.ts';
import { certificateInspect } from '../features/certificates/effects/certificate-inspect.ts';
import { domainReport, issuerReport } from '../features/certificates/effects/certificate-reports.ts';
import { certificateStore } from '../features/certificates/effects/certificate-store.ts';
import { issuerVerify } from '../features/certificates/effects/issuer-verify.ts';
import { pendingDiscard } from '../features/certificates/effects/pending-discard.ts';
import { electionStatusPatch } from '../features/elections/effects/election-status.ts';
import { leaseFollow } from '../features/elections/effects/lease-follow.ts';
import { leaseLook } from '../features/elections/effects/lease-look.ts';
import { leaseRelease } from '../features/elections/effects/lease-release.ts';
import { leaseWrite } from '../features/elections/effects/lease-write.ts';
import type { LeaseStore } from '../features/elections/lease.ts';
import type { LeaseFollower } from '../features/elections/lease-follow.ts';
import { endpointSlicesReconcile, type SlicesParts } from '../features/endpoints/effects/endpoint-slices.ts';
import { workloadConditionPatch } from '../features/endpoints/effects/workload-condition.ts';
import { workloadProbe } from '../features/endpoints/effects/workload-probe.ts';
import { type ReleaseEffectParts, releaseEffects } from '../features/releases/effects/release.ts';
import { podConditionPatch } from '../features/routes/effects/pod-condition.ts';
import { routeSample } from '../features/routes/effects/route-sample.ts';
import type { ProbeLimiter } from '../features/routes/probe/limiter.ts';
import type { KubePort } from '../kube/api/port.ts';
import { kubeEventWrite } from '../kube/effects/kube-event.ts';
import type { Effect, RouteSample } from '../machines/effects.ts';
import type { LeaseFollow } from '../machines/election/election-effects.ts';
import type { ActorEvent } from '../machines/events.ts';

/** What an election does with its Lease; for those who campaign in memory, too. */
export interface LeaseParts {
  readonly store: LeaseStore;
  readonly follower: LeaseFollower;
  /** The one by which the election counts its deadlines. */
  readonly clock: Clock;
}

export function leaseRunners(parts: LeaseParts) {
  return {
    'lease.look': leaseLook(parts),
    'lease.write': leaseWrite(parts),
    'lease.release': leaseRelease(parts),
    'lease.follow': leaseFollow(parts),
  } satisfies Partial<EffectRunners>;
}

export function effectRunners(
  parts: {
    readonly bus: Bus;
    readonly subjects: Subjects;
    readonly kube: KubePort;
    readonly clock: Clock;
    readonly limiter: ProbeLimiter;
    readonly replica: string;
    /** How probes resolve names; the system's way if absent. */
    readonly lookup?: LookupFunction;
    readonly leases: LeaseParts;
    readonly certificates: CertificateParts;
    readonly slices: Pick<SlicesParts, 'scene' | 'endpointsPerSlice' | 'onWrite'>;
  } & ReleaseEffectParts,
): EffectRunners {
  const { bus, subjects, kube, clock, limiter, replica, lookup, leases, slices } = parts;
  const writeEvent = kubeEventWrite(kube, { replica });
  return {
    'message.send': messageSend(bus, subjects),
    'pod-condition.patch': podConditionPatch(kube),
    'kube-event.write': writeEvent,
    'route.sample': routeSample({ limiter, clock, ...(lookup === undefined ? {} : { lookup }) }),
    'endpoint-slices.reconcile': endpointSlicesReconcile({ kube, clock, ...slices }),
    'workload.probe': workloadProbe(clock),
    'workload-condition.patch': workloadConditionPatch(kube),
    ...releaseEffects(parts, writeEvent),
    'election-status.patch': electionStatusPatch(kube),
    ...leaseRunners(leases),
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
export function runEffectWith(runners: Partial<EffectRunners>) {
  return (effect: { readonly type: string }, context: EffectContext): Promise<ActorEvent> => {
    const known = effect as Effect;
    const run = runners[known.type] as EffectRunner<Effect> | undefined;
    invariant(run !== undefined, 'a chart asks only for effects that can be run here', {
      effect: known.type,
    });
    return run(known, context);
  };
}

/** Longest time that an effect may take, ms. A round of calls is bounded by its calls, three of them at a time. */
export function effectTimeoutMs(effect: { readonly type: string }): number {
  const own = timeoutsMs[effect.type];
  if (own !== undefined) return own;
  if (effect.type === 'release.round') return limits.releaseRoundMs;
  if (effect.type === 'lease.follow') return (effect as LeaseFollow).seconds * 1_000 + limits.effectTimeoutMs;
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
