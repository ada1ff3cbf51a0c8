/**
 * One list/watch: runs the watch chart (machines/watch/watch.ts) in memory and fills one sink.
 */

import { type LocalActor, startLocal } from '../../actors/host/local.ts';
import type { ErrorCode } from '../../base/errors.ts';
import type { KubePort, KubeResource } from '../../base/kube-port.ts';
import type { Ambient } from '../../base/log-port.ts';
import { type WatchEffect, type WatchInput, watchChart } from '../../machines/watch/watch.ts';
import { createWatchRunner, type ObjectSink } from './watch-runner.ts';

export interface WatchParts extends Ambient {
  readonly kube: KubePort;
}

export interface WatchedObjects<T> {
  /** The actor's name for what it watches; default: the resource's name. */
  readonly name?: string;
  readonly resource: KubeResource;
  /** null: the whole cluster. */
  readonly namespace: string | null;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  readonly sink: ObjectSink<T>;
  /** A page or a stream failed; it is retried. */
  readonly onRestart: (code: ErrorCode) => void;
}

export function startWatch<T>(
  { kube, clock, random, log }: WatchParts,
  { name, namespace, ...watched }: WatchedObjects<T>,
): LocalActor {
  const place = namespace === null ? {} : { namespace };
  const run = createWatchRunner({ kube, clock, log, ...place, ...watched });
  const input: WatchInput = { resource: name ?? watched.resource.plural, namespace };
  return startLocal({
    chart: watchChart,
    input,
    // The host takes a chart's effects as plain data; those here are the watch chart's own.
    runEffect: (effect, { signal, emit }) => run(effect as unknown as WatchEffect, { signal, emit }),
    clock,
    random,
  });
}
