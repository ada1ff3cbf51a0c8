/**
 * Drives one actor of a chart by its stepper, as the host does: events in, state and effects out, deadlines
 * on a clock that the test moves. Nothing runs its effects: the test says what came of them.
 *
 * Between any two steps the actor goes through its record (plain JSON and back), so whatever a test shows
 * also holds for an actor that moves to another replica at that moment.
 */
import { createStepper, type EffectData, type StepResult, stateText } from '../../../src/actors/host/step.ts';
import type { Health } from '../../../src/base/views.ts';
import { asOfNow, type Chart } from '../../../src/machines/chart.ts';
import { stateWords, type Told } from '../../../src/machines/tell.ts';

interface Deadline {
  readonly event: { readonly type: string };
  readonly at: number;
}

/** A step of the actor; ignored events make none. */
export interface DrivenStep {
  /** Time since the actor was created, ms. */
  readonly atMs: number;
  /** null: it began with this step. */
  readonly from: string | null;
  readonly to: string;
  readonly event: { readonly type: string; readonly [field: string]: unknown };
  readonly effects: readonly EffectData[];
}

const startMs = 1_700_000_000_000;
const noEventYet = 'the actor has taken no event yet';

export class ChartDriver<Event extends { readonly type: string }, Context = unknown, Effect = EffectData> {
  /** Milliseconds since the epoch. */
  now = startMs;
  /** What the host draws for each event. */
  random = 0.5;
  /** Every step so far. */
  readonly steps: DrivenStep[] = [];
  readonly #stepper: ReturnType<typeof createStepper>;
  readonly #input: object;
  readonly #deadlines = new Map<string, Deadline>();
  #record: string | null = null;
  #state: string | null = null;
  #since = startMs;
  #asked: EffectData[] = [];
  #isOver = false;

  constructor(chart: Chart, namespace: string, name: string) {
    this.#stepper = createStepper(chart);
    this.#input = { id: `${chart.name}/${namespace === '' ? '_' : namespace}/${name}`, namespace, name };
  }

  /** Lets the actor take events, one after another. */
  take(...events: readonly Event[]): this {
    for (const event of events) this.#step(event);
    return this;
  }

  /** Lets time pass; each deadline on the way is taken at its time. */
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

  /** The state as people read it: `marking.patching`, `routes.sampling,endpoints.ignored`. */
  get state(): string {
    if (this.#state === null) throw new Error(noEventYet);
    return this.#state;
  }

  get context(): Context {
    const { chart } = this.#stepper;
    return asOfNow(chart, this.#persisted(), chart.version).context as Context;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** What people are told of it now. */
  get told(): Told & { readonly health: Health } {
    const { chart } = this.#stepper;
    const { health, text } = stateWords(chart, this.state);
    const standing = { states: this.state.split(','), context: this.context, at: this.now };
    return { ...(chart.tell?.({ ...standing, since: this.#since }) ?? { text }), health };
  }

  /** The effects that were requested since the last look. */
  asked(): Effect[] {
    const asked = this.#asked as Effect[];
    this.#asked = [];
    return asked;
  }

  #earliest(): [string, Deadline] | undefined {
    return [...this.#deadlines].sort(([, a], [, b]) => a.at - b.at)[0];
  }

  #persisted(): { readonly value: unknown; readonly context: unknown } {
    if (this.#record === null) throw new Error(noEventYet);
    return JSON.parse(this.#record);
  }

  #step(event: { readonly type: string }): void {
    const stamped = { ...event, at: this.now, random: this.random };
    const from = this.#record === null ? null : this.state;
    const result = this.#taken(stamped);
    const record = this.#stepper.persist(result.snapshot);
    this.#record = JSON.stringify(record);
    this.#state = stateText(record.value);
    this.#keepDeadlines(result);
    this.#asked.push(...result.effects);
    this.#isOver = result.done;
    if (!result.changed && result.effects.length === 0) return;
    if (from !== this.state) this.#since = this.now;
    const { effects } = result;
    this.steps.push({ atMs: this.now - startMs, from, to: this.state, event, effects });
  }

  #taken(stamped: { readonly type: string; readonly at: number; readonly random: number }): StepResult {
    const stepper = this.#stepper;
    if (this.#record === null) return stepper.begin(this.#input, stamped);
    return stepper.step(stepper.restore(JSON.parse(this.#record), stepper.chart.version), stamped);
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
