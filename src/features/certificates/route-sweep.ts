/**
 * Removes left-over Ingresses and HTTPRoutes of challenges: their domain's record was lost, or another
 * release created them.
 *
 * Runs in the replica that mirrors Domains, at its start and every ten minutes. Promise: an object that is
 * still wanted stays (its annotation says until when).
 */
import type { Keeper } from '../../actors/feature.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { asError } from '../../base/errors.ts';
import type { KubePort } from '../../base/kube-port.ts';
import type { Log } from '../../base/log-port.ts';
import { sweepRoutes } from './solvers/route-objects.ts';

const pauseMs = 10 * 60_000;

export function createRouteSweep(parts: {
  readonly kube: KubePort;
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly namespace: string;
}): Keeper {
  let abort = new AbortController();
  return {
    start() {
      abort = new AbortController();
      void keepSweeping(parts, abort.signal);
    },
    stop: () => abort.abort(new Error('stopped')),
  };
}

async function keepSweeping(
  { kube, clock, log, namespace }: Parameters<typeof createRouteSweep>[0],
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const removed = await sweepRoutes(kube, namespace, clock, signal);
      if (removed.length > 0) log.info({ removed }, 'removed left-over challenge routes');
    } catch (thrown) {
      if (signal.aborted) return;
      log.warn({ error: asError(thrown).message }, 'cannot look for left-over challenge routes');
    }
    await sleep(clock, pauseMs, signal).catch(() => {});
  }
}
