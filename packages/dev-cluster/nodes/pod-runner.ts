/**
 * One Pod's life on the node: its backend starts after a while, serves, drains and ends.
 *
 * `starting → running → draining → ended`. Owns the backend's sockets and the timers of the Pod. Promises:
 * while draining it serves as before (what a preStop sleep is for), then takes no new connection, then ends
 * those left when the grace is over. Knows nothing of the API server; `onChange` says that the facts are
 * other than before.
 */

import type { Clock, Timer } from '../../../src/base/clock.ts';
import { asError } from '../../../src/base/errors.ts';
import { socketAddress } from '../../kube-api/socket-addresses.ts';
import type { PodObject } from '../objects.ts';
import { type Backend, startBackend } from './backend.ts';
import type { Behaviour } from './behaviour.ts';

export interface PodRunner {
  readonly uid: string;
  readonly ip: string;
  /** `ended` once no socket is left. */
  phase(): 'starting' | 'running' | 'draining' | 'ended';
  startedAt(): number | undefined;
  waitingFor(): string | undefined;
  behave(behaviour: Behaviour): void;
  /** @param graceMs from now on; the connections left are ended then */
  drain(behaviour: Behaviour, graceMs: number): void;
  /** Ends at once. */
  kill(): Promise<void>;
}

export interface PodRunnerParts {
  readonly pod: PodObject;
  readonly ip: string;
  readonly behaviour: Behaviour;
  readonly clock: Clock;
  /** An adopted Pod runs already, by its status: it starts without a delay. */
  readonly isAdopted: boolean;
  readonly onChange: () => void;
}

/** A port that is taken (a Pod of a process that is just ending) is tried again so often, ms. */
const portRetryMs = 200;

export function startPodRunner(parts: PodRunnerParts): PodRunner {
  const { pod, ip, clock, onChange } = parts;
  let behaviour = parts.behaviour;
  let phase: ReturnType<PodRunner['phase']> = 'starting';
  let startedAt: number | undefined;
  let waitingFor: string | undefined;
  let backend: Backend | undefined;
  let starting: Promise<void> | undefined;
  const timers = new Set<Timer>();

  const after = (delayMs: number, fn: () => void) => {
    const timer = clock.after(delayMs, () => {
      timers.delete(timer);
      fn();
    });
    timers.add(timer);
  };
  const start = async () => {
    const backendOptions = { podName: pod.metadata.name, advertisedIp: ip, host: socketAddress(ip) };
    try {
      backend = await startBackend({ ...backendOptions, ports: portsOf(pod), health: behaviour.health });
    } catch (thrown) {
      waitingFor = `PortNotAvailable: ${asError(thrown).message}`;
      if (phase === 'starting') after(portRetryMs, begin);
      return onChange();
    }
    if (phase !== 'starting') return;
    phase = 'running';
    waitingFor = undefined;
    startedAt = clock.now();
    onChange();
  };
  const begin = () => {
    starting = start();
  };
  const end = async (how: 'close' | 'kill') => {
    for (const timer of timers) timer.cancel();
    timers.clear();
    await starting;
    await backend?.[how]();
    if (phase === 'ended') return;
    phase = 'ended';
    onChange();
  };

  after(parts.isAdopted ? 0 : behaviour.startDelayMs, begin);

  return {
    uid: pod.metadata.uid ?? '',
    ip,
    phase: () => phase,
    startedAt: () => startedAt,
    waitingFor: () => waitingFor,
    behave(wanted) {
      behaviour = wanted;
      backend?.setHealth(wanted.health);
    },
    drain(wanted, graceMs) {
      if (phase === 'draining' || phase === 'ended') return;
      const serves = phase === 'running';
      phase = 'draining';
      after(graceMs, () => void backend?.kill());
      after(serves ? Math.min(wanted.drainMs, graceMs) : 0, () => void closeWithin());
    },
    async kill() {
      const isNews = phase !== 'ended';
      if (isNews) phase = 'draining';
      await end('kill');
    },
  };

  /** The timer of the grace must survive: it is what ends a connection that never ends by itself. */
  async function closeWithin(): Promise<void> {
    await starting;
    await backend?.close();
    await end('kill');
  }
}

function portsOf(pod: PodObject): number[] {
  return (pod.spec?.containers ?? [])
    .flatMap((container) => container.ports ?? [])
    .filter((port) => (port.protocol ?? 'TCP') === 'TCP')
    .map((port) => port.containerPort);
}
