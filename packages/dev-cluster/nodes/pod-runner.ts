/**
 * One Pod's life on the node: its backend starts after a while, serves, drains and ends.
 *
 * `starting → running → draining → ended`. Owns the backend's sockets and the timers of the Pod. Promises:
 * while draining it serves as before (as with a preStop sleep), then accepts no new connection, then ends the
 * remaining ones when the grace is over. Knows nothing of the API server; `onChange` says that the facts have
 * changed.
 */

import type { Clock, Timer } from '../../../src/base/clock.ts';
import { asError } from '../../../src/base/errors.ts';
import { socketAddress } from '../../kube-api/socket-addresses.ts';
import type { PodObject } from '../objects.ts';
import { type Backend, startBackend } from './backend.ts';
import type { Behaviour } from './behaviour.ts';

/** `ended` once no socket is left. */
type PodPhase = 'starting' | 'running' | 'draining' | 'ended';

export interface PodRunnerParts {
  readonly pod: PodObject;
  readonly ip: string;
  readonly behaviour: Behaviour;
  readonly clock: Clock;
  /** An adopted Pod is already running according to its status: it starts without a delay. */
  readonly isAdopted: boolean;
  readonly onChange: () => void;
}

/** How often a port is tried again that is taken (by a Pod of a process that is just ending), ms. */
const portRetryMs = 200;

export class PodRunner {
  readonly uid: string;
  readonly ip: string;
  readonly #parts: PodRunnerParts;
  readonly #timers = new Set<Timer>();
  #behaviour: Behaviour;
  #phase: PodPhase = 'starting';
  #startedAt: number | undefined;
  #waitingFor: string | undefined;
  #backend: Backend | undefined;
  #starting: Promise<void> | undefined;

  constructor(parts: PodRunnerParts) {
    this.#parts = parts;
    this.uid = parts.pod.metadata.uid ?? '';
    this.ip = parts.ip;
    this.#behaviour = parts.behaviour;
    this.#after(parts.isAdopted ? 0 : parts.behaviour.startDelayMs, () => this.#begin());
  }

  phase(): PodPhase {
    return this.#phase;
  }

  startedAt(): number | undefined {
    return this.#startedAt;
  }

  waitingFor(): string | undefined {
    return this.#waitingFor;
  }

  behave(wanted: Behaviour): void {
    this.#behaviour = wanted;
    this.#backend?.setHealth(wanted.health);
  }

  /** @param graceMs from now on; then the remaining connections are ended */
  drain({ drainMs }: Behaviour, graceMs: number): void {
    if (this.#phase === 'draining' || this.#phase === 'ended') return;
    const serves = this.#phase === 'running';
    this.#phase = 'draining';
    this.#after(graceMs, () => void this.#backend?.kill());
    this.#after(serves ? Math.min(drainMs, graceMs) : 0, () => void this.#close());
  }

  /** Ends at once. */
  async kill(): Promise<void> {
    if (this.#phase !== 'ended') this.#phase = 'draining';
    await this.#end();
  }

  #begin(): void {
    this.#starting = this.#start();
  }

  async #start(): Promise<void> {
    const { pod, ip, clock, onChange } = this.#parts;
    const { health } = this.#behaviour;
    const options = { podName: pod.metadata.name, advertisedIp: ip, host: socketAddress(ip), health };
    try {
      this.#backend = await startBackend({ ...options, ports: portsOf(pod) });
    } catch (thrown) {
      this.#waitingFor = `PortNotAvailable: ${asError(thrown).message}`;
      if (this.#phase === 'starting') this.#after(portRetryMs, () => this.#begin());
      return onChange();
    }
    if (this.#phase !== 'starting') return;
    this.#phase = 'running';
    this.#waitingFor = undefined;
    this.#startedAt = clock.now();
    onChange();
  }

  /** The grace timer must survive: only it ends a connection that never ends by itself. */
  async #close(): Promise<void> {
    await this.#starting;
    await this.#backend?.close();
    await this.#end();
  }

  async #end(): Promise<void> {
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    await this.#starting;
    await this.#backend?.kill();
    if (this.#phase === 'ended') return;
    this.#phase = 'ended';
    this.#parts.onChange();
  }

  #after(delayMs: number, fn: () => void): void {
    const timer = this.#parts.clock.after(delayMs, () => {
      this.#timers.delete(timer);
      fn();
    });
    this.#timers.add(timer);
  }
}

function portsOf(pod: PodObject): number[] {
  return (pod.spec?.containers ?? [])
    .flatMap((container) => container.ports ?? [])
    .filter((port) => (port.protocol ?? 'TCP') === 'TCP')
    .map((port) => port.containerPort);
}
