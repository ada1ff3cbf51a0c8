/**
 * Turns for rounds of probes: a limited number of one namespace at a time, first come, first served.
 *
 * Thousands of workloads that never answer would otherwise keep every round of everybody else waiting for as
 * long as their timeouts. Promise: a round waits for `limits.workloadProbeLineMs` at most.
 */
import { type Clock, sleep } from '../../../base/clock.ts';
import { limits } from '../../../base/limits.ts';

export interface ProbeTurn {
  /** To be called once. */
  end(): void;
}

export const noTurnText = (namespace: string) =>
  `${limits.workloadProbesOfNamespace} other probes of the namespace ${namespace} were waiting for answers, the most that one replica makes at a time; shorter timeouts and longer periods leave room`;

export function createProbeTurns(clock: Clock) {
  const lanes = new Map<string, { running: number; readonly waiting: Set<() => void> }>();
  const laneOf = (namespace: string) => {
    const lane = lanes.get(namespace) ?? { running: 0, waiting: new Set() };
    lanes.set(namespace, lane);
    return lane;
  };
  const turnIn = (namespace: string): ProbeTurn => ({
    end() {
      const lane = laneOf(namespace);
      const [next] = lane.waiting;
      // The next one takes the place.
      if (next !== undefined) return next();
      lane.running -= 1;
      if (lane.running === 0) lanes.delete(namespace);
    },
  });
  /** @returns whether it was called in time */
  const waitIn = async (waiting: Set<() => void>, signal: AbortSignal): Promise<boolean> => {
    const patience = new AbortController();
    let isCalled = false;
    const call = () => {
      isCalled = true;
      waiting.delete(call);
      patience.abort(new Error('its turn has come'));
    };
    waiting.add(call);
    const both = AbortSignal.any([patience.signal, signal]);
    await sleep(clock, limits.workloadProbeLineMs, both).catch(() => {});
    waiting.delete(call);
    return isCalled;
  };
  return {
    /** null: there was none in time. */
    async take(namespace: string, signal: AbortSignal): Promise<ProbeTurn | null> {
      const lane = laneOf(namespace);
      if (lane.running < limits.workloadProbesOfNamespace) {
        lane.running += 1;
        return turnIn(namespace);
      }
      if (lane.waiting.size >= limits.workloadProbesWaiting) return null;
      return (await waitIn(lane.waiting, signal)) ? turnIn(namespace) : null;
    },
  };
}
