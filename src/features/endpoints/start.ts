/** The feature `endpoints` in one replica: its join, its passes over EndpointSlices, its probes. */
import { runs } from '../../actors/effect-runner.ts';
import type { EngineView, FeatureRun, StartFeature } from '../../actors/feature.ts';
import { kindOf } from '../../actors/host/cell.ts';
import type { Cidr } from '../../base/config-values.ts';
import type { Transition } from '../../base/views.ts';
import { slicesReconcile } from '../../machines/service/slices-effects.ts';
import { workloadConditionPatch, workloadProbe } from '../../machines/workload/workload-effects.ts';
import { reconcileSlices } from './effects/endpoint-slices.ts';
import { patchWorkloadCondition } from './effects/workload-condition.ts';
import { mayBeProbed, probeWorkload } from './effects/workload-probe.ts';
import { createEndpointsJoin } from './endpoints-join.ts';
import type { OtherWriter } from './slice-labels.ts';

export interface EndpointsSettings {
  /** 1 to 1,000. */
  readonly endpointsPerSlice: number;
  /**
   * Networks that probes may call; absent or null: all but loopback, link-local, multicast and unspecified
   * addresses.
   */
  readonly probeCidrs?: readonly Cidr[] | null;
  /** The other controller whose slices are adopted; absent or null: none. */
  readonly takeOver?: OtherWriter | null;
}

export function startEndpoints({
  endpointsPerSlice,
  takeOver = null,
  probeCidrs = null,
}: EndpointsSettings): StartFeature {
  return ({ engine, kube, clock, metrics }): FeatureRun => {
    const { world } = engine;
    const onLapsed = (id: string) => engine.shards.observe([id]);
    const join = createEndpointsJoin({ world, clock, takeOver, endpointsPerSlice, onLapsed });
    const onWrite = (operation: string) => metrics.count('orrery_endpointslice_writes_total', { operation });
    const slices = { kube, clock, scene: () => join.index, endpointsPerSlice, takeOver, onWrite };
    return {
      joins: [join],
      effects: [
        runs(slicesReconcile, reconcileSlices(slices)),
        runs(workloadProbe, probeWorkload(clock, mayBeProbed(probeCidrs))),
        runs(workloadConditionPatch, patchWorkloadCondition(kube)),
      ],
      gauges: () => [{ name: 'orrery_endpoints_stuck', value: stuckIn(engine) }],
      onStep(transition) {
        if (became(isStuck, transition)) metrics.count('orrery_endpoints_stuck_total');
        if (became(isContested, transition)) metrics.count('orrery_endpoints_contested_total');
        tellAgain(engine.shards, transition);
      },
      stop: () => join.index.stop(),
    };
  };
}

/**
 * Tells the Service its facts again after a pass that met incomplete lists. It had heard them before the
 * lists lapsed, so nobody else would.
 */
export function tellAgain(shards: Pick<EngineView['shards'], 'observe'>, { id, event }: Transition): void {
  if (event.type === 'slices.unlisted') shards.observe([id]);
}

/** Whether a Service has just come into such a state. */
function became(isSuch: (state: string | null) => boolean, { id, from, to }: Transition): boolean {
  return id.startsWith('service/') && isSuch(to) && !isSuch(from);
}

/** Every retry to write the EndpointSlices is used up. */
const isStuck = (state: string | null) => state?.includes('endpoints.stuck') === true;
/** Others keep changing them. */
const isContested = (state: string | null) => state?.includes('endpoints.written.contested') === true;

/** How many Services of this replica's shards have EndpointSlices that no retry could write. */
export function stuckIn({ shards }: Pick<EngineView, 'shards'>): number {
  let count = 0;
  for (const run of shards.open()) {
    if (run.phase !== 'active') continue;
    for (const cell of run.cells.values()) {
      if (kindOf(cell) === 'service' && isStuck(cell.state)) count += 1;
    }
  }
  return count;
}
