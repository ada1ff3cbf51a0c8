/** The feature `routes` in one replica: its joins and its effects. */
import type { LookupFunction } from 'node:net';
import { runs } from '../../actors/effect-runner.ts';
import type { FeatureMetrics, FeatureRun, StartFeature } from '../../actors/feature.ts';
import type { Affected } from '../../actors/world/join.ts';
import type { Clock } from '../../base/clock.ts';
import type { Transition } from '../../base/views.ts';
import type { PodContext } from '../../machines/pod/pod-context.ts';
import { podConditionPatch } from '../../machines/pod/pod-effects.ts';
import { routeGateLook, routeGateStatusPatch } from '../../machines/routegate/routegate-effects.ts';
import { routeSample, routeWiden } from '../../machines/service/route-effects.ts';
import { createClusterDomain } from './cluster-domain.ts';
import { lookAtGate } from './effects/gate-look.ts';
import { patchGateStatus } from './effects/gate-status.ts';
import { patchPodCondition } from './effects/pod-condition.ts';
import { sampleRoutes } from './effects/route-sample.ts';
import { createGateJoin, createGateStatusJoin } from './gate-join.ts';
import type { Groups } from './groups/groups.ts';
import { comingTo, heldAt, podAt } from './groups/listed-addresses.ts';
import { FairLimiter } from './probe/limiter.ts';
import { anyAddressOf, lookupBySystem } from './probe/lookup.ts';
import type { Listing } from './probe/pace.ts';
import { createRoutesJoin } from './routes-join.ts';

export interface RoutesSettings {
  /** Resolves the names of probes; absent: the system's resolver. */
  readonly lookup?: LookupFunction;
}

export function startRoutes({ lookup = lookupBySystem() }: RoutesSettings): StartFeature {
  return ({ engine, kube, clock, random, log, incarnation, metrics }): FeatureRun => {
    const { world } = engine;
    const domain = createClusterDomain({ clock, log });
    const later = createLater(clock, (ids) => engine.shards.observe(ids));
    const join = createRoutesJoin({ world, clusterDomain: () => domain.current(), later });
    const limiter = new FairLimiter(clock);
    const listing = listingOf(join.groups);
    const sampling = sampleRoutes({ limiter, clock, listing, lookup: anyAddressOf(lookup, random) });
    const gates = createGateJoin({ world, incarnation, isComplete: join.isComplete });
    return {
      joins: [join, gates, createGateStatusJoin(world)],
      effects: [
        runs(podConditionPatch, patchPodCondition(kube)),
        runs(routeSample, sampling.sample),
        runs(routeWiden, sampling.widen),
        runs(routeGateLook, lookAtGate({ world, join, gates })),
        runs(routeGateStatusPatch, patchGateStatus(kube)),
      ],
      onStep: (transition, context) => observeGateWait(metrics, transition, context),
    };
  };
}

/** A group of the sampler is a Service's actor: `<ns>/<name>`. */
export function listingOf(groups: Groups): Listing {
  const placeOf = (group: string) => group.split('/') as [string, string];
  const addressesOf = (group: string) => groups.listedAddresses(...placeOf(group));
  const groupOf = (group: string) => groups.groupOfService(...placeOf(group));
  return {
    addressesOf,
    comingTo: (group) => comingTo(groupOf(group), addressesOf(group)),
    moment: () => groups.podChanges,
    heldAt: (group) => heldAt(groupOf(group), addressesOf(group)),
    podAt: (group, ip, since) => podAt(groupOf(group), ip, since),
    onChange: (group, listener) => groups.onSlices(...placeOf(group), listener),
  };
}

/**
 * Services hear of new Pods in their group once a second, of all together: each time costs a saved step of
 * each Service, and a Pod's own question wakes them anyway (docs/features/routes.md §4.8).
 */
const laterMs = 1_000;

export function createLater(clock: Clock, tell: (ids: Iterable<string>) => void): (ids: Affected) => void {
  const waiting = new Set<string>();
  const tellAll = () => {
    const told = [...waiting];
    waiting.clear();
    tell(told);
  };
  return (ids) => {
    if (waiting.size === 0) clock.after(laterMs, tellAll);
    for (const id of ids) waiting.add(id);
  };
}

/**
 * The wait ends when the condition has been written. That very step clears `heldSince`, but keeps it as
 * `heldBefore`.
 */
function observeGateWait(metrics: FeatureMetrics, { id, from, to, at }: Transition, context: unknown): void {
  if (!id.startsWith('pod/') || !from?.startsWith('gated.marking') || !to.startsWith('gated.ready')) return;
  const { heldBefore } = context as PodContext;
  if (heldBefore !== null) metrics.observe('orrery_pod_gate_wait_seconds', (at - heldBefore) / 1000);
}
