/**
 * Drives one chart by its stepper, as the host does: events in, state and effects out, deadlines on a clock
 * that the test moves.
 *
 * Between any two steps the actor goes through its record (plain JSON and back), so whatever a test shows
 * holds for an actor that moves to another replica at that moment, too.
 */
import { createStepper, type EffectData, type StepResult, stateText } from '../../src/actors/host/step.ts';
import { asOfNow } from '../../src/machines/chart.ts';
import { machines } from '../chart-of.ts';
import type { Effect, EffectType } from './any-effect.ts';

interface Deadline {
  readonly event: { readonly type: string };
  readonly at: number;
}

type EffectOf<T extends EffectType> = Extract<Effect, { readonly type: T }>;

export interface PlainEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

export class ActorDriver<Event extends { readonly type: string }, Context> {
  /** Milliseconds since the epoch. */
  now = 1_700_000_000_000;
  /** What the host draws for each event. */
  random = 0.5;
  readonly #stepper: ReturnType<typeof createStepper>;
  readonly #input: object;
  readonly #deadlines = new Map<string, Deadline>();
  #record: string | null = null;
  #asked: EffectData[] = [];
  #isOver = false;

  constructor(kind: string, namespace: string, name: string) {
    const chart = machines[kind];
    if (!chart) throw new Error(`there is no ${kind} chart`);
    this.#stepper = createStepper(chart);
    this.#input = { id: `${kind}/${namespace}/${name}`, namespace, name };
  }

  /** Lets the actor take events, one after the other. */
  take(...events: readonly Event[]): this {
    for (const event of events) this.#step(event);
    return this;
  }

  /** Time passes; each deadline that is over on the way is taken at its time. */
  wait(ms: number): this {
    const until = this.now + ms;
    for (let next = this.#earliest(); next && next[1].at <= until; next = this.#earliest()) {
      const [id, { at, event }] = next;
      this.#deadlines.delete(id);
      this.now = Math.max(this.now, at);
      this.#step(event);
    }
    this.now = until;
    return this;
  }

  /** Time until the earliest deadline, ms; null: the actor waits for no time. */
  get patience(): number | null {
    const next = this.#earliest();
    return next ? next[1].at - this.now : null;
  }

  /** As people read it: `marking.patching`, `routes.sampling,endpoints.ignored`. */
  get state(): string {
    return stateText(this.#persisted().value);
  }

  get context(): Context {
    const { chart } = this.#stepper;
    return asOfNow(chart, this.#persisted(), chart.version).context as Context;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The effects that were asked for since the last look. */
  asked(): Effect[] {
    const asked = this.#asked as unknown as Effect[];
    this.#asked = [];
    return asked;
  }

  /** Of those the ones of one type; the others are forgotten, too. */
  askedOf<T extends EffectType>(type: T): EffectOf<T>[] {
    return this.asked().filter((effect): effect is EffectOf<T> => effect.type === type);
  }

  #earliest(): [string, Deadline] | undefined {
    return [...this.#deadlines].sort(([, a], [, b]) => a.at - b.at)[0];
  }

  #persisted(): { readonly value: unknown; readonly context: unknown } {
    if (this.#record === null) throw new Error('the actor has taken no event yet');
    return JSON.parse(this.#record);
  }

  #step(event: { readonly type: string }): void {
    const stamped = { ...event, at: this.now, random: this.random };
    const result =
      this.#record === null
        ? this.#stepper.begin(this.#input, stamped)
        : this.#stepper.step(
            this.#stepper.restore(JSON.parse(this.#record), this.#stepper.chart.version),
            stamped,
          );
    this.#record = JSON.stringify(this.#stepper.persist(result.snapshot));
    this.#keepDeadlines(result);
    this.#asked.push(...result.effects);
    this.#isOver = result.done;
  }

  #keepDeadlines({ timers, done }: StepResult): void {
    for (const change of timers) {
      this.#deadlines.delete(change.id);
      if (change.kind === 'set')
        this.#deadlines.set(change.id, { event: change.event, at: this.now + Math.max(0, change.delayMs) });
    }
    if (done) this.#deadlines.clear();
  }
}
