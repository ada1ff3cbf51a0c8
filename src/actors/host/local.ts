/**
 * Runs a chart of the replica's own life (a shard, a watch): in memory, never saved, otherwise by the same
 * rules.
 *
 * Takes events one at a time, in order; runs effects after the step; keeps deadlines by the clock. The times
 * in its events come from a clock that cannot be set (lease-clock.ts), so the chart may compare them.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import { asError } from '../../base/errors.ts';
import type { PlainEvent } from '../../base/plain-event.ts';
import type { Random } from '../../base/random.ts';
import type { Chart } from '../../machines/chart.ts';
import { failureOf } from '../../machines/effect.ts';
import { leaseClock } from '../time/lease-clock.ts';
import {
  createStepper,
  type EffectData,
  type Snapshot,
  type Stepper,
  type StepResult,
  stateText,
} from './step.ts';

export interface LocalParts {
  readonly chart: Chart;
  readonly input: object;
  readonly runEffect: (
    effect: EffectData,
    run: { readonly signal: AbortSignal; readonly emit: (event: PlainEvent) => void },
  ) => Promise<PlainEvent>;
  readonly clock: Clock;
  readonly random: Random;
  /** The first event; a chart that starts by itself needs none. */
  readonly first?: PlainEvent;
  readonly onTransition?: (transition: {
    readonly event: PlainEvent;
    readonly from: string | null;
    readonly to: string;
    readonly snapshot: Snapshot;
  }) => void;
}

export interface LocalActor {
  send(event: PlainEvent): void;
  snapshot(): Snapshot;
  state(): string;
  /** Ends timers and effects; later events are ignored. */
  stop(): void;
}

export function startLocal(parts: LocalParts): LocalActor {
  const actor = new Local(parts);
  return actor;
}

/** One for each chart, because a replica has a holding for each shard. */
const steppers = new WeakMap<Chart, Stepper>();

function stepperOf(chart: Chart): Stepper {
  const stepper = steppers.get(chart) ?? createStepper(chart);
  steppers.set(chart, stepper);
  return stepper;
}

class Local implements LocalActor {
  readonly #parts: LocalParts;
  readonly #stepper;
  readonly #abort = new AbortController();
  readonly #timers = new Map<string, Timer>();
  readonly #queue: PlainEvent[] = [];
  #snapshot: Snapshot;
  #state = '';
  #busy = true;

  constructor(parts: LocalParts) {
    this.#parts = parts;
    const { chart, input, first = { type: 'started' } } = parts;
    this.#stepper = stepperOf(chart);
    const begun = this.#stepper.begin(input, this.#stamp(first));
    this.#snapshot = begun.snapshot;
    this.#apply(first, null, begun);
    this.#busy = false;
    this.#work();
  }

  send(event: PlainEvent): void {
    if (this.#abort.signal.aborted) return;
    this.#queue.push(event);
    this.#work();
  }

  snapshot(): Snapshot {
    return this.#snapshot;
  }

  state(): string {
    return this.#state;
  }

  stop(): void {
    this.#abort.abort(new Error('stopped'));
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
    this.#queue.length = 0;
  }

  #stamp(event: PlainEvent) {
    return { ...event, at: leaseClock(this.#parts.clock).now(), random: this.#parts.random.next() };
  }

  #work(): void {
    if (this.#busy) return;
    this.#busy = true;
    try {
      for (let event = this.#queue.shift(); event; event = this.#queue.shift()) {
        if (this.#snapshot.status !== 'active') return;
        const result = this.#stepper.step(this.#snapshot, this.#stamp(event));
        // Re-entering a state may change only its deadline.
        const isNews = result.changed || result.effects.length > 0 || result.timers.length > 0;
        if (isNews) this.#apply(event, this.#state, result);
      }
    } finally {
      this.#busy = false;
    }
  }

  #apply(event: PlainEvent, from: string | null, result: StepResult): void {
    this.#snapshot = result.snapshot;
    this.#state = stateText(result.snapshot.value);
    for (const change of result.timers) {
      this.#timers.get(change.id)?.cancel();
      this.#timers.delete(change.id);
      if (change.kind === 'set') this.#arm(change.id, change.event, change.delayMs);
    }
    this.#parts.onTransition?.({ event, from, to: this.#state, snapshot: result.snapshot });
    for (const effect of result.effects) void this.#run(effect);
  }

  #arm(id: string, event: PlainEvent, delayMs: number): void {
    const fire = () => {
      this.#timers.delete(id);
      this.send(event);
    };
    this.#timers.set(id, this.#parts.clock.after(delayMs, fire));
  }

  async #run(effect: EffectData): Promise<void> {
    const { signal } = this.#abort;
    const emit = (event: PlainEvent) => this.send(event);
    try {
      this.send(await this.#parts.runEffect(effect, { signal, emit }));
    } catch (error) {
      if (!signal.aborted) this.send(failureOf(this.#parts.chart.effects, effect, asError(error).message));
    }
  }
}
