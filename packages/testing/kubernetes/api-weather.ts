/**
 * What may happen to a request on its way to the API server and back, as one process sees it: it may be lost
 * before or after it was served, and one that its caller gave up may still be served.
 */
import type { Clock } from '../../../src/base/clock.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import type { HttpCall, Transport } from '../../../src/kube/api/kube-http.ts';
import type { SimProcess } from '../replicas/process.ts';

/**
 * `reset`: the connection breaks; `lost`: silence; each before or after it was served. `late`: it is served
 * when the API server gets to it.
 */
export type RequestFate =
  | 'served'
  | 'late'
  | 'lost'
  | 'answerLost'
  | 'reset'
  | 'answerReset'
  | 'refused'
  | 'conflict'
  | 'throttled';

export interface ApiWeather {
  /** One direction, ms. */
  latencyMs(): number;
  /** How long a late request waits at the API server, ms. */
  lateMs(): number;
  fate(call: Pick<HttpCall, 'method' | 'path'>): RequestFate;
}

/** Every request is served in time. */
export const fairWeather: ApiWeather = { latencyMs: () => 1, lateMs: () => 0, fate: () => 'served' };

type Refusal = ConstructorParameters<typeof OrreryError>;

/** The answers instead of serving. */
const refusals: Partial<Record<RequestFate, Refusal>> = {
  reset: ['KUBE_UNREACHABLE', 'simulated: connection reset'],
  refused: ['KUBE_SERVER', 'simulated: 500', { facts: { status: 500 } }],
  throttled: ['KUBE_THROTTLED', 'simulated: 429', { facts: { status: 429, retryAfterMs: 1_000 } }],
  conflict: ['KUBE_CONFLICT', 'simulated: 409', { facts: { status: 409 } }],
};

export interface WeatheredParts {
  readonly transport: Transport;
  readonly weather: ApiWeather;
  /** The world's clock: a request is on its way whether or not its sender is paused. */
  readonly clock: Clock;
  readonly process: SimProcess;
}

/** Aborted when either of them is. */
function either(signal: AbortSignal, other: AbortController): AbortSignal {
  signal.addEventListener('abort', () => other.abort(signal.reason), { once: true });
  return other.signal;
}

/** The transport as a process in that weather sees it. */
export function weathered({ transport, weather, clock, process }: WeatheredParts): Transport {
  const never = new AbortController().signal;
  return {
    ...transport,
    call(call, signal) {
      const served = roundTrip(call, () => transport.call(call, never));
      return process.gate(given(process.clock, served, call.timeoutMs, signal));
    },
    async stream(request, onPiece, signal) {
      const fate = weather.fate({ method: 'GET', path: request.path });
      await process.gate(given(process.clock, paused(clock, weather.latencyMs()), request.silenceMs, signal));
      const refusal = refusals[fate];
      if (refusal !== undefined) throw new OrreryError(...refusal);
      const { onOpen } = request;
      const enter = (fn: () => void) => process.enter(() => !signal.aborted && fn());
      const told = onOpen === undefined ? {} : { onOpen: () => enter(onOpen) };
      const breaking = new AbortController();
      const onBreak = () => breaking.abort(new OrreryError('KUBE_UNREACHABLE', 'simulated: the watch broke'));
      const watched = either(signal, breaking);
      // For a watch, lost and late mean that it breaks off later.
      if (fate !== 'served') clock.after(weather.lateMs(), onBreak);
      await process.gate(transport.stream({ ...request, ...told }, (piece) => read(piece, enter), watched));
      function read(piece: Uint8Array, enter: (fn: () => void) => void): void {
        enter(() => {
          try {
            onPiece(piece);
          } catch (thrown) {
            breaking.abort(thrown);
          }
        });
      }
    },
  };

  async function roundTrip<T>(call: HttpCall, serve: () => Promise<T>): Promise<T> {
    const fate = weather.fate(call);
    await paused(clock, weather.latencyMs() + (fate === 'late' ? weather.lateMs() : 0));
    const refusal = refusals[fate];
    if (refusal === undefined && fate !== 'lost') {
      const answer = await serve().finally(() => paused(clock, weather.latencyMs()));
      if (fate === 'served' || fate === 'late') return answer;
    }
    if (fate === 'lost' || fate === 'answerLost') return new Promise<never>(() => {});
    throw new OrreryError(...(refusal ?? (refusals.reset as Refusal)));
  }
}

/** The caller waits for this long, or until it is told to stop. */
function given<T>(own: Clock, served: Promise<T>, timeoutMs: number, signal: AbortSignal): Promise<T> {
  served.catch(() => {});
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const timer = own.after(timeoutMs, () =>
      reject(new OrreryError('KUBE_UNREACHABLE', 'simulated: no answer in time')),
    );
    const end = () => timer.cancel();
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    served.then(resolve, reject).finally(end);
  });
}

function paused(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}
