/**
 * A list/watch of its own for who needs no mirror: the watch chart (machines/watch.ts), run in memory, that feeds one store.
 */
import type { Clock } from '../clock.ts';
import type { ErrorCode } from '../errors.ts';
import type { WatchEffect, WatchEvent } from '../machines/watch.ts';
import type { Random } from '../random.ts';
import type { KubeLog } from './log.ts';
import type { KubePort, KubeResource } from './port.ts';
import type { StartLocal, WatchChart } from './scope.ts';
import { createWatchRunner, type ObjectFeed } from './watch.ts';

/** A chart is run by those who know how: actors/local.ts and machines/watch.ts. */
export interface StartWatch<M> {
  readonly startLocal: StartLocal<M>;
  readonly watchChart: WatchChart<M>;
}

export interface WatchedObjects<T> {
  readonly resource: KubeResource;
  readonly namespace: string;
  readonly fieldSelector?: string;
  readonly feed: ObjectFeed<T>;
  /** A page or a stream failed; it is tried again. */
  readonly onRestart: (code: ErrorCode) => void;
}

export function startWatch<M, T>(
  parts: StartWatch<M> & {
    readonly kube: KubePort;
    readonly clock: Clock;
    readonly random: Random;
    readonly log: KubeLog;
  },
  watched: WatchedObjects<T>,
): { stop(): void } {
  const { kube, clock, random, log, startLocal, watchChart } = parts;
  const run = createWatchRunner({ kube, clock, log, ...watched });
  return startLocal({
    machine: watchChart.machine,
    effectTypes: watchChart.effectTypes,
    input: { resource: watched.resource.plural, namespace: watched.namespace },
    runEffect: (effect, { signal, emit }) =>
      run(effect as unknown as WatchEffect, { signal, emit: (event: WatchEvent) => emit(event) }),
    failureOf: (effect, message) => watchChart.failureOf(effect as unknown as WatchEffect, message),
    clock,
    random,
  });
}
