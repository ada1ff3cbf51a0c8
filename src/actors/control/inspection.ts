/**
 * The replicas' side of the live feed: reports steps while somebody watches, and only then.
 *
 * A watcher announces what it watches, with a time limit (`peer.watch`), and repeats the announcement before
 * the limit. Without watchers, the engine has no listener and a step costs nothing extra. List rows are sent
 * in bundles, with each actor once however often it stepped; each step of a watched actor is sent with its
 * context.
 */

import type { Clock, Timer } from '../../base/clock.ts';
import { attempt } from '../../base/errors.ts';
import { type ActorId, parseActorId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { LiveRow, LiveStep, Transition, Watch } from '../../base/views.ts';
import type { Bus, BusMessage } from '../../bus/bus.ts';
import { decode, encodeJson } from '../../bus/codec.ts';
import type { Subjects } from '../../bus/subjects.ts';
import type { Engine } from '../engine.ts';
import { kindOf, livingRecordOf, recordOf } from '../host/cell.ts';
import type { Cell } from '../host/owned.ts';
import { standingOf, summaryOf } from './actor-views.ts';

/** As many as somebody reads; the replica's `/readyz` has all. */
const troublesMax = 10;

export function startInspection(parts: {
  readonly engine: Pick<Engine, 'shards' | 'parts' | 'watchSteps'>;
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly clock: Clock;
  readonly replica: string;
  /** What an operator should know of this replica. */
  readonly troubles?: () => readonly string[];
}) {
  const inspection = new Watched(parts);
  const subscription = parts.bus.subscribe(parts.subjects.peer('watch'), (message) => {
    const watch = readWatch(message);
    if (watch) inspection.hear(watch);
  });
  return {
    stop(): void {
      subscription.stop();
      inspection.stop();
    },
  };
}

class Watched {
  readonly #parts: Parameters<typeof startInspection>[0];
  readonly #watches = new Map<string, { readonly watch: Watch; readonly until: number }>();
  /** Actors that stepped since the last bundle, with the last event of each. */
  readonly #stepped = new Map<ActorId, string>();
  #actors: ReadonlySet<string> = new Set();
  #wantsRows = false;
  #wantsSteps = false;
  /** Kinds whose rows are sent with their facts. */
  #factsOf: ReadonlySet<string> = new Set();
  #bundle: Timer | null = null;
  #expiry: Timer | null = null;

  constructor(parts: Parameters<typeof startInspection>[0]) {
    this.#parts = parts;
  }

  hear(watch: Watch): void {
    this.#watches.delete(watch.watcher);
    if (this.#watches.size >= limits.inspectWatchers) return;
    const until = this.#parts.clock.monotonic() + Math.min(watch.ttlMs, limits.inspectWatchMs);
    if (watch.ttlMs > 0) this.#watches.set(watch.watcher, { watch, until });
    this.#sum();
    if (watch.ttlMs > 0 && watch.rows) this.#tellTroubles();
  }

  /** Also that there are none: whoever heard of some forgets them. */
  #tellTroubles(): void {
    const { bus, subjects, replica, troubles } = this.#parts;
    if (!troubles) return;
    const told = troubles().slice(0, troublesMax);
    bus.publish(
      subjects.peer('troubles'),
      encodeJson({ replica, troubles: told.map((text) => text.slice(0, limits.letterBodyChars)) }),
    );
  }

  stop(): void {
    this.#watches.clear();
    this.#sum();
  }

  /** Removes expired watchers, and listens to the engine only while there are others. */
  #sum(): void {
    const { clock, engine } = this.#parts;
    const now = clock.monotonic();
    for (const [watcher, { until }] of this.#watches) if (until <= now) this.#watches.delete(watcher);
    const watches = [...this.#watches.values()];
    this.#wantsRows = watches.some(({ watch }) => watch.rows);
    this.#wantsSteps = watches.some(({ watch }) => watch.steps);
    this.#factsOf = new Set(watches.flatMap(({ watch }) => watch.facts ?? []));
    this.#actors = new Set(watches.flatMap(({ watch }) => watch.actors));
    this.#expiry?.cancel();
    this.#expiry = null;
    const next = Math.min(...watches.map(({ until }) => until));
    if (watches.length > 0) this.#expiry = clock.after(next - now, () => this.#sum());
    const isWatched = this.#wantsRows || this.#wantsSteps || this.#actors.size > 0;
    engine.watchSteps(isWatched ? (step, context) => this.#onStep(step, context) : null);
    if (isWatched) return;
    this.#bundle?.cancel();
    this.#bundle = null;
    this.#stepped.clear();
  }

  #onStep(step: Transition, context: unknown): void {
    if (this.#wantsRows) {
      this.#stepped.set(step.id, step.event.type);
      this.#bundle ??= this.#parts.clock.after(limits.inspectBundleMs, () => this.#tellRows());
    }
    if (this.#wantsSteps || this.#actors.has(step.id)) this.#tellStep(step, context);
  }

  #tellRows(): void {
    this.#bundle = null;
    const rows: LiveRow[] = [];
    for (const [id, event] of this.#stepped) {
      const cell = this.#cellOf(id);
      if (cell) rows.push(this.#rowOf(cell, event));
    }
    this.#stepped.clear();
    const { bus, subjects } = this.#parts;
    for (let at = 0; at < rows.length; at += limits.inspectBundleRows) {
      bus.publish(subjects.peer('rows'), encodeJson({ rows: rows.slice(at, at + limits.inspectBundleRows) }));
    }
  }

  #rowOf(cell: Cell, event: string): LiveRow {
    const record = recordOf(cell);
    const { engine, clock, replica: owner } = this.#parts;
    const kind = kindOf(cell);
    const chart = engine.parts.steppers.get(kind)?.chart;
    const asked = { owner, chart, at: clock.now(), facts: this.#factsOf.has(kind) };
    const row = { ...summaryOf(cell, record, asked), event, ...(record ? { at: record.at } : {}) };
    return record?.gone ? { ...row, gone: true } : row;
  }

  #tellStep(step: Transition, context: unknown): void {
    const { bus, subjects, engine, replica, clock } = this.#parts;
    const cell = this.#cellOf(step.id);
    if (!cell) return;
    const stepper = engine.parts.steppers.get(kindOf(cell));
    const actor = standingOf(
      { clock, stepper, admission: engine.parts.admission },
      cell,
      livingRecordOf(cell),
      replica,
    );
    const { kind, namespace, name } = parseActorId(step.id);
    const told = encodeJson({ step: { ...step, context }, actor } satisfies LiveStep);
    if (told.byteLength <= limits.inspectStepBytes)
      bus.publish(subjects.peer('step', kind, namespace, name), told);
  }

  #cellOf(id: ActorId): Cell | undefined {
    return this.#parts.engine.shards.runOf(id)?.cells.get(id);
  }
}

function readWatch(message: BusMessage): Watch | null {
  // Unreadable bytes on our subject are ignored.
  return attempt(() => {
    const watch = decode(message.data) as Partial<Watch> | null;
    if (typeof watch?.watcher !== 'string' || typeof watch.ttlMs !== 'number') return null;
    const texts = (list: unknown) =>
      Array.isArray(list) ? list.filter((one) => typeof one === 'string') : [];
    return {
      watcher: watch.watcher,
      rows: watch.rows === true,
      steps: watch.steps === true,
      actors: texts(watch.actors).slice(0, limits.inspectActors) as ActorId[],
      facts: texts(watch.facts).slice(0, limits.inspectActors),
      ttlMs: watch.ttlMs,
    };
  }, null);
}
