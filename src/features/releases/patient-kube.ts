/**
 * The Kubernetes API for a round: a request that the API server asks to wait is made again after that time
 * (429, and 5xx with Retry-After).
 *
 * A round makes thousands of requests, a few at a time. If each that is asked to wait were an error, the
 * round would press on with the others, fail, and begin anew within a second. Promises: a request waits three
 * times at most, and never longer than a minute at once; then its object fails, and the round goes on.
 */
import { type Clock, sleep } from '../../base/clock.ts';
import { hasCode, retryAfterOf } from '../../base/errors.ts';
import type { KubePort } from '../../base/kube-port.ts';

const waitsMax = 3;
/** Where the API server does not say how long, ms: its own clients wait as long. */
const usualMs = 1_000;
const longestMs = 60_000;

export function patientKube(kube: KubePort, clock: Clock, signal: AbortSignal): KubePort {
  const patient =
    <A extends readonly unknown[], R>(call: (...given: A) => Promise<R>) =>
    async (...given: A): Promise<R> => {
      for (let waits = 0; ; waits++) {
        try {
          return await call(...given);
        } catch (thrown) {
          const ms = waitOf(thrown);
          if (ms === null || ms > longestMs || waits >= waitsMax) throw thrown;
          await sleep(clock, ms, signal);
        }
      }
    };
  return {
    ...kube,
    get: patient(kube.get),
    list: patient(kube.list),
    create: patient(kube.create),
    patch: patient(kube.patch),
    delete: patient(kube.delete),
    resolve: patient(kube.resolve),
  };
}

/** null: it does not ask to wait. */
const waitOf = (thrown: unknown): number | null =>
  hasCode(thrown, 'KUBE_THROTTLED') ? (retryAfterOf(thrown) ?? usualMs) : null;
