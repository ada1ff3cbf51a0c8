/**
 * One list/watch: the watch chart (machines/watch.ts), run in memory, that feeds one store.
 */
import type { Clock } from '../../base/clock.ts';
import type { ErrorCode } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import type { WatchEffect, WatchEvent, WatchFailed, WatchInput } from '../../machines/watch/watch.ts';
import type { KubeLog } from '../api/log.ts';
import type { KubePort, KubeResource } from '../api/port.ts';
import { createWatchRunner, type ObjectFeed } from './watch.ts';

/** What `actors/local.ts` does: runs a chart in memory. */
export type StartLocal<M> = (options: {
  readonly machine: M;
  readonly input: object;
  readonly effectTypes: readonly string[];
  readonly runEffect: (
    effect: PlainFact,
    run: { readonly signal: AbortSignal; readonly emit: (event: PlainFact) => void },
  ) => Promise<PlainFact>;
  readonly failureOf: (effect: PlainFact, message: string) => PlainFact;
  readonly clock: Clock;
  readonly random: Random;
}) => LocalActor;

export type PlainFact = { readonly type: string } & Readonly<Record<string, unknown>>;

interface LocalActor {
  send(event: PlainFact): void;
  snapshot(): { readonly value: unknown; readonly context: unknown };
  stop(): void;
}

/** What `machines/watch.ts` exports under this name. */
export interface WatchChart<M> {
  readonly machine: M;
  readonly effectTypes: readonly string[];
  readonly failureOf: (effect: WatchEffect, message: string) => WatchFailed;
}

/** A chart is run by those who know how: actors/local.ts and machines/watch.ts. */
export interface StartWatch<M> {
  readonly startLocal: StartLocal<M>;
  readonly watchChart: WatchChart<M>;
}

export interface WatchParts<M> extends StartWatch<M> {
  readonly kube: KubePort;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: KubeLog;
}

export interface WatchedObjects<T> {
  /** How the actor calls what it watches; the resource's name if absent. */
  readonly name?: string;
  readonly resource: KubeResource;
  /** null: the whole cluster. */
  readonly namespace: string | null;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  readonly feed: ObjectFeed<T>;
  /** A page or a stream failed; it is tried again. */
  readonly onRestart: (code: ErrorCode) => void;
}

export function startWatch<M, T>(
  { kube, clock, random, log, startLocal, watchChart }: WatchParts<M>,
  { name, namespace, ...watched }: WatchedObjects<T>,
): LocalActor {
  const place = namespace === null ? {} : { namespace };
  const run = createWatchRunner({ kube, clock, log, ...place, ...watched });
  const input: WatchInput = { resource: name ?? watched.resource.plural, namespace };
  return startLocal({
    machine: watchChart.machine,
    effectTypes: watchChart.effectTypes,
    input,
    // The host takes what the chart asks for as plain data; what comes here are the chart's own effects.
    runEffect: (effect, { signal, emit }) =>
      run(effect as unknown as WatchEffect, { signal, emit: (event: WatchEvent) => emit(event) }),
    failureOf: (effect, message) => watchChart.failureOf(effect as unknown as WatchEffect, message),
    clock,
    random,
  });
}
