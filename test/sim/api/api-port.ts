/**
 * The simulated API as one process reaches it: over a network that takes time and fails as drawn. A request
 * may be lost before or after it was served, and one that its caller gave up may still be served. Events of a
 * watch come late, in order.
 */

import type { SimProcess } from '../../../packages/testing/replicas/process.ts';
import { createLane } from '../../../packages/testing/time/lane.ts';
import type { SimClock } from '../../../packages/testing/time/sim-clock.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubePort, KubeWatchEvent } from '../../../src/base/kube-port.ts';
import { limits } from '../../../src/base/limits.ts';
import { errors, type KubeWeather } from '../sim-kube.ts';
import type { SimApi } from './sim-api.ts';

export interface ApiPortParts {
  readonly api: SimApi;
  readonly clock: SimClock;
  readonly process: SimProcess;
  readonly weather: KubeWeather;
  /** The name under which it writes. */
  readonly by: string;
}

export function apiPort(parts: ApiPortParts): KubePort {
  const { api, by } = parts;
  const call = <T>(serve: () => T, signal: AbortSignal) => request(parts, serve, signal);
  return {
    list: (resource, options, signal) =>
      call(() => {
        const { version, items } = api.list(resource, options);
        return { resourceVersion: version, continue: '', items };
      }, signal),
    watch: (resource, options, onEvent, signal) => {
      const open = (told: (event: KubeWatchEvent) => void, onBroken: () => void) =>
        api.watch(resource, options, options.resourceVersion, { onEvent: told, onBroken });
      return watch(parts, open, { ...options, onEvent }, signal);
    },
    get: (resource, namespace, name, signal) => call(() => api.get(resource, namespace, name), signal),
    create: (resource, object, signal) => call(() => api.create(resource, object, by), signal),
    ask: () => Promise.reject(new OrreryError('INVARIANT', 'nobody asks in a simulated world')),
    replace: (resource, object, signal, subresource) =>
      call(() => api.replace(resource, object, by, subresource), signal),
    patch: (resource, patch, signal) => call(() => api.patch(resource, patch, by), signal),
    delete: (resource, namespace, name, options, signal) =>
      call(() => api.remove(resource, namespace, name, options, by), signal),
    resolve: (apiVersion, kind, signal) => call(() => api.resolve(apiVersion, kind), signal),
  };
}

/**
 * One request and its answer.
 * @param serve runs at the server, if the request gets there
 */
export function request<T>(
  { clock, process, weather }: Pick<ApiPortParts, 'clock' | 'process' | 'weather'>,
  serve: () => T,
  signal: AbortSignal,
): Promise<T> {
  const { latencyMs, lateMs, fate } = weather;
  const served = new Promise<T>((resolve, reject) => {
    const chosen = fate();
    const giveUp = () => reject(new OrreryError('KUBE_UNREACHABLE', 'simulated: no answer in time'));
    const patience = clock.after(limits.kubeRequestMs, giveUp);
    if (chosen === 'lost' || chosen === 'answerLost') {
      weather.hanging += 1;
      clock.after(limits.kubeRequestMs, () => {
        weather.hanging -= 1;
      });
    }
    const later = (answer: () => void) => {
      clock.after(latencyMs(), () => {
        patience.cancel();
        answer();
      });
    };
    clock.after(latencyMs() + (chosen === 'late' ? lateMs() : 0), () => {
      if (chosen === 'lost') return;
      const error = errors[chosen];
      if (error) return later(() => reject(new OrreryError(...error)));
      try {
        const answer = serve();
        if (chosen === 'served' || chosen === 'late') later(() => resolve(answer));
      } catch (refusal) {
        later(() => reject(refusal));
      }
      if (chosen === 'answerReset') later(() => reject(new OrreryError(...reset)));
    });
  });
  // A caller that has given up does not hear of it.
  served.catch(() => {});
  return process.gate(
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const abort = () => reject(signal.reason);
      signal.addEventListener('abort', abort, { once: true });
      served.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
    }),
  );
}

const reset = ['KUBE_UNREACHABLE', 'simulated: connection reset'] as const;

interface Watching {
  readonly timeoutSeconds: number;
  readonly onOpen?: () => void;
  readonly onEvent: (event: KubeWatchEvent) => void;
}

type Open = (told: (event: KubeWatchEvent) => void, onBroken: () => void) => (() => void) | null;

function watch(parts: ApiPortParts, open: Open, watching: Watching, signal: AbortSignal): Promise<void> {
  const { clock, process, weather } = parts;
  return process.gate(
    new Promise<void>((resolve, reject) => {
      let end: (() => void) | null = null;
      let isOver = false;
      const over = (settle: () => void) => {
        if (isOver) return;
        isOver = true;
        // A listener that stays would keep what it knows for as long as the watcher lives.
        signal.removeEventListener('abort', abort);
        end?.();
        settle();
      };
      const abort = () => over(() => reject(signal.reason));
      const lane = createLane(clock, process.enter);
      const inOrder = (fn: () => void) => lane(weather.latencyMs(), fn);
      const told = (event: KubeWatchEvent) => inOrder(() => !isOver && watching.onEvent(event));
      const broken = () => inOrder(() => over(() => reject(new OrreryError(...reset))));
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener('abort', abort, { once: true });
      clock.after(weather.latencyMs(), () => {
        if (isOver || process.state === 'dead') return;
        if (weather.fate() !== 'served') return broken();
        inOrder(() => watching.onOpen?.());
        end = open(told, broken);
        if (end === null)
          return over(() => reject(new OrreryError('KUBE_EXPIRED', 'too old resource version')));
        clock.after(watching.timeoutSeconds * 1_000, () => inOrder(() => over(resolve)));
      });
    }),
  );
}
