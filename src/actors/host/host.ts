/**
 * The host: steps the actors of the shards that this replica owns.
 *
 * Flow of one event: mailbox → step → save under the fence → effects, timers, feed → next event. Many actors
 * step concurrently; each takes one event at a time.
 *
 * Invariants kept here: I1 (effects start after the save), I2 (one revision for each step), I3 (no save,
 * nothing outside), I5 (mail sequence and recent ids), I6 (bounds of limits.ts), I8 (a chart that throws
 * parks its own actor only). Absent: which replica owns what (ownership.ts), reading the stored shard
 * (shard-store.ts), what effects do.
 */

import { asError, hasCode } from '../../base/errors.ts';
import { type ActorId, parseActorId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { begin } from '../shards/shard-run.ts';
import { proveOwner } from '../shards/shard-store.ts';
import { type Company, createCompany } from '../time/company.ts';
import { recordOfNow } from '../time/deadlines.ts';
import { defer, saved, stampOf } from '../time/deferral.ts';
import { createLeaps, type Leaps } from '../time/leaps.ts';
import { untilItsTurn } from '../time/pace.ts';
import { createCell, isIdle, isRepetition, kindOf, note, noteStored, recordOf, rest, wake } from './cell.ts';
import { type Consequences, createConsequences } from './consequences.ts';
import type { HostListener, HostParts } from './host-parts.ts';
import { isOutboxFull, isTurnedAway, put, refuse, refusedToCreate, settle, takeNext } from './mailbox.ts';
import { afterIgnored, afterSave, isForFormer, nextRecord } from './next-record.ts';
import { type OldestWork, oldestWork } from './oldest-work.ts';
import type { Cell, Hot, MailboxItem, ShardRun } from './owned.ts';
import { createParking, markUnreadable, type Parking } from './parking.ts';
import { type ActorRecord, packRecord, ttlSecondsOf } from './records.ts';
import { createSaver, type Saver, type Saving } from './saver.ts';
import { isNothing, type StampedEvent, type Stepper, type StepResult } from './step.ts';
import { endStepSpan, startStepSpan, traced, traceOfTimer } from './step-span.ts';
import { createTimers, type Timers } from './timers.ts';
import { createTurnstile } from './turnstile.ts';

export class Host {
  readonly stats = { steps: 0, ignored: 0 };
  readonly #parts: HostParts;
  readonly #saver: Saver;
  readonly #saves = createTurnstile(limits.savesInFlight);
  readonly #onSaveOver = (): void => this.#saves.leave();
  readonly #timers: Timers<{ cell: Cell; id: string }>;
  readonly #consequences: Consequences;
  readonly #parking: Parking;
  readonly #company: Company;
  readonly #hotCells = new Set<Cell>();
  readonly #leaps: Leaps;
  /** For each shard, the event that has been in progress longest. */
  readonly oldestWork = (): OldestWork => oldestWork(this.#hotCells);
  readonly stop = (): void => this.#timers.stop();
  #listener: HostListener = { fenced: () => {}, born: () => {}, room: () => {}, untold: () => {} };

  constructor(parts: HostParts) {
    this.#parts = parts;
    this.#leaps = createLeaps(parts.clock, {
      wake: (cell) => (this.#stepperOf(cell)?.chart.leaps ? this.#wake(cell) : null),
      work: (cell, hot) => this.#startWork(cell, hot),
    });
    this.#saver = createSaver({ ...parts, fenceSubject: parts.subjects.fence });
    this.#company = createCompany(parts.clock, (cell, hot) => this.#startWork(cell, hot));
    this.#timers = createTimers(parts.clock, ({ cell, id }, at) => this.#onDue(cell, id, at));
    this.#consequences = createConsequences(parts, {
      deliver: (cell, item) => this.deliver(cell.shard, cell.id, item),
      deliverOutcome: (cell, item) => this.#deliverOutcome(cell, item),
      fail: (cell, error) => this.#lose(cell.shard, error),
      prove: (shard) =>
        proveOwner(parts, this.#saver, shard).catch((error) => {
          this.#lose(shard, error);
          throw error;
        }),
    });
    this.#parking = createParking(parts, {
      work: (cell, hot) => this.#startWork(cell, hot),
      due: (cell, { id, at }) => this.#onDue(cell, id, at),
      deliverOutcome: (cell, item) => this.#deliverOutcome(cell, item),
      untold: (cell) => this.#listener.untold(cell.id),
    });
  }

  listen(listener: HostListener): void {
    this.#listener = listener;
  }

  /** Takes over a loaded shard: sets timers, re-runs outboxes, publishes missing transitions. */
  activate(run: ShardRun): void {
    run.phase = 'active';
    this.#leaps.open(run);
    for (const cell of [...run.cells.values()]) {
      if (cell.unreadable !== null) continue;
      try {
        this.#resume(cell);
      } catch (error) {
        this.#giveUp(cell, error);
      }
    }
  }

  /** Stops taking events; resolves when every save in progress is done and the shard can be handed over. */
  async drain(run: ShardRun): Promise<void> {
    run.phase = 'draining';
    while (run.saving.size > 0) await new Promise<void>((resolve) => this.#parts.clock.after(1, resolve));
  }

  /** Gives the shard up at once: effects are aborted, nothing more is saved. */
  drop(run: ShardRun, reason: Error): void {
    run.phase = 'closed';
    this.#leaps.close(run);
    run.abort.abort(reason);
    for (const cell of run.cells.values()) {
      this.#hotCells.delete(cell);
      cell.hot?.company?.timer.cancel();
      for (const item of cell.hot?.mailbox ?? []) refuse(item, 'NOT_OWNER', 'the shard moved');
    }
    run.cells.clear();
  }

  /** Puts an event into the actor's mailbox; `item.onTaken` receives the outcome. */
  deliver(run: ShardRun, id: ActorId, item: MailboxItem) {
    if (run.phase === 'closed' || run.phase === 'draining')
      return refuse(item, 'NOT_OWNER', 'the shard is moving');
    const known = run.cells.get(id);
    const refused = known ? null : refusedToCreate(this.#parts, run, id, item);
    if (refused !== null) return refuse(item, ...refused);
    const cell = known ?? this.#newCell(run, id);
    const hot = this.#wake(cell);
    if (!hot) refuse(item, 'ACTOR_PARKED', cell.unreadable ?? '');
    else if (isTurnedAway(cell, hot, item)) {
      if (item.mail !== undefined) cell.overflowed = true;
      refuse(item, 'MAILBOX_FULL', `${id} has ${hot.mailbox.length} events waiting`);
    } else this.#enqueue(cell, hot, item);
    if (!known && item.world === undefined) this.#listener.born(run, id);
  }

  /** Once a second: detects changes of the wall clock, rewrites stale records, puts idle cells to rest. */
  sweep(): void {
    this.#leaps.notice();
    this.#timers.look();
    const before = this.#parts.clock.monotonic() - limits.restAfterMs;
    for (const cell of this.#hotCells) {
      const { hot } = cell;
      if (!hot || cell.shard.phase !== 'active' || hot.lastUsed > before || !isIdle(hot)) continue;
      if (hot.stale) void this.#flush(cell, hot);
      else if (this.#hotCells.delete(cell)) rest(cell, hot);
    }
  }

  #resume(cell: Cell): void {
    const stored = recordOf(cell);
    const record = stored && recordOfNow(this.#parts, cell, stored, () => this.#wake(cell));
    if (record === null) return;
    for (const timer of record.timers) this.#timers.add(timer, { cell, id: timer.id });
    const isWaiting = record.outbox.length > 0 || record.feed.length > 0 || cell.hot !== null;
    const hot = isWaiting || record !== stored ? this.#wake(cell) : null;
    if (!hot) return;
    if (record !== stored) Object.assign(hot, { record, stale: true });
    const loadedAs = cell.shard.unpublished.get(cell.id);
    if (loadedAs !== undefined) this.#consequences.publishLoaded(cell, hot, loadedAs);
    this.#consequences.perform(cell, hot, record.outbox);
    this.#startWork(cell, hot);
  }

  #stepperOf(cell: Cell): Stepper | undefined {
    return this.#parts.steppers.get(kindOf(cell));
  }

  #newCell(run: ShardRun, id: ActorId): Cell {
    const cell = createCell(id, run);
    run.cells.set(cell.id, cell);
    return cell;
  }

  /** An unusable record parks its own actor only (I8). */
  #wake(cell: Cell): Hot | null {
    if (cell.hot) return cell.hot;
    if (cell.unreadable !== null) return null;
    try {
      const hot = wake(cell, this.#stepperOf(cell), this.#parts.clock.monotonic());
      this.#hotCells.add(cell);
      return hot;
    } catch (error) {
      this.#giveUp(cell, error);
      return null;
    }
  }

  #giveUp(cell: Cell, error: unknown): void {
    markUnreadable(cell, asError(error).message);
    const facts = { actor: cell.id, error: cell.unreadable };
    this.#parts.log.error(facts, 'actor parked: its record cannot be used');
  }

  #onDue(cell: Cell, id: string, at: number): void {
    if (cell.shard.phase !== 'active' || cell.shard.cells.get(cell.id) !== cell) return;
    const hot = this.#wake(cell);
    const timer = hot?.record?.timers.find((one) => one.id === id && one.at === at);
    if (!hot || !timer) return;
    this.#enqueue(cell, hot, { event: timer.event, cause: null, timer, trace: traceOfTimer(cell, at) });
  }

  #deliverOutcome(cell: Cell, item: MailboxItem): void {
    const hot = cell.shard.phase === 'closed' ? null : this.#wake(cell);
    if (hot) this.#enqueue(cell, hot, item);
  }

  #enqueue(cell: Cell, hot: Hot, item: MailboxItem): void {
    put(hot, item, this.#parts.clock.monotonic());
    this.#startWork(cell, hot);
  }

  #startWork(cell: Cell, hot: Hot): void {
    const isFree = !hot.working && hot.parkedUntil === 0 && cell.shard.phase === 'active';
    if (isFree && hot.mailbox.length > 0 && !this.#company.isAwaited(cell, hot, hot.stepper?.chart))
      void this.#work(cell, hot);
  }

  async #work(cell: Cell, hot: Hot): Promise<void> {
    const { shard } = cell;
    const { clock, paces } = this.#parts;
    const chart = hot.stepper?.chart;
    const pace = paces.ofKind(kindOf(cell));
    hot.working = true;
    let inHand: MailboxItem | undefined;
    try {
      for (let isFirst = true; shard.phase === 'active' && hot.parkedUntil === 0; isFirst = false) {
        // With a full outbox only outcomes are taken; the next outcome resumes the actor (I6).
        if (isOutboxFull(hot) && hot.mailbox[0]?.completes === undefined) break;
        // Before the first, `#startWork` has looked.
        if (!isFirst && this.#company.isAwaited(cell, hot, chart)) break;
        const turn = hot.mailbox.length > 0 ? pace && untilItsTurn(hot, pace) : undefined;
        if (turn) await turn;
        if (chart?.leaps) this.#leaps.notice();
        const take = () => {
          inHand = shard.phase === 'active' ? takeNext(hot, chart?.merge) : undefined;
          hot.takingSince = inHand ? clock.monotonic() : null;
          return inHand ? this.#take(cell, hot, inHand) : null;
        };
        const taking = pace ? pace.charge(take) : take();
        if (taking === null) break;
        if (taking) await taking;
        inHand = undefined;
        hot.takingSince = null;
        if (cell.overflowed && hot.mailbox.length < limits.mailboxEvents / 2) {
          cell.overflowed = false;
          this.#listener.room(shard);
        }
      }
    } catch (error) {
      if (inHand) refuse(inHand, 'NOT_OWNER', 'the shard moved');
      this.#lose(shard, error);
    } finally {
      hot.working = false;
      hot.takingSince = null;
      hot.lastUsed = clock.monotonic();
    }
  }

  /** A save was refused, or its outcome is unknown: only a new claim shows what is stored. */
  #lose(shard: ShardRun, error: unknown): void {
    if (shard.abort.signal.aborted) return;
    if (!hasCode(error, 'NOT_OWNER')) {
      const facts = { shard: shard.shard, error: asError(error).message };
      this.#parts.log.warn(facts, 'it is not known whether a step was saved; claiming the shard again');
    }
    this.#listener.fenced(shard);
  }

  #take(cell: Cell, hot: Hot, item: MailboxItem): Promise<void> | undefined {
    const { record, stepper } = hot;
    if (isRepetition(record, item)) return settle(cell, item, { kind: 'ignored' });
    if (record !== null && isForFormer(record, item)) return this.#ignore(cell, hot, item);
    const isNew = record === null || record.gone;
    if (!stepper || (isNew && !stepper.chart.createdBy.includes(item.event.type))) {
      // The last effect's outcome finds its actor gone: only the outbox entry has to be removed.
      if (item.completes !== undefined) return this.#ignore(cell, hot, item);
      return settle(cell, item, { kind: 'refused', code: 'ACTOR_MISSING', reason: `there is no ${cell.id}` });
    }
    // An observation that the world has nothing for it creates no actor.
    if (isNew && item.world !== undefined && item.event.facts === null)
      return settle(cell, item, { kind: 'ignored' });
    const event: StampedEvent = { ...item.event, ...stampOf(this.#parts, cell, stepper) };
    let result: StepResult;
    try {
      result =
        hot.snapshot === null
          ? stepper.begin({ id: cell.id, ...parseActorId(cell.id) }, event)
          : stepper.step(hot.snapshot, event);
    } catch (error) {
      return this.#parking.park(cell, hot, item, asError(error));
    }
    if (isNothing(result) || (isNew && result.done)) return this.#ignore(cell, hot, item);
    return this.#commit(cell, hot, item, stepper, event, result);
  }

  #ignore(cell: Cell, hot: Hot, item: MailboxItem): Promise<void> | undefined {
    this.stats.ignored++;
    if (hot.record !== null) {
      const record = afterIgnored(hot.record, item);
      if (record !== hot.record) hot.stale = true;
      hot.record = record;
    }
    return settle(cell, item, { kind: 'ignored' });
  }

  /** Saves the step, then starts its consequences (I1). */
  async #commit(
    cell: Cell,
    hot: Hot,
    item: MailboxItem,
    stepper: Stepper,
    event: StampedEvent,
    result: StepResult,
  ): Promise<void> {
    const { clock, random, metrics, replica, onStep, paces } = this.#parts;
    const { shard, id } = cell;
    const started = hot.takingSince ?? clock.monotonic();
    const span = startStepSpan(this.#parts, id, item);
    const room = this.#consequences.room(cell, hot);
    if (room) await room;
    const before = hot.record;
    let next: ReturnType<typeof nextRecord>;
    let bytes: Uint8Array;
    try {
      const { fence, mailOf } = shard;
      next = nextRecord({ id, stepper, before, item, event, result, replica, random, fence, mailOf });
      bytes = packRecord(next.record);
      paces.ofKind(stepper.chart.name)?.saved(bytes.byteLength);
    } catch (error) {
      span?.end(asError(error).message);
      return await this.#parking.park(cell, hot, item, asError(error));
    }
    if (defer(hot, { stepper, item, event, result, next })) {
      for (const timer of next.newTimers) this.#timers.add(timer, { cell, id: timer.id });
      endStepSpan(this.#parts, cell, span, next.transition);
      await settle(cell, item, { kind: 'stepped', transition: next.transition });
      return;
    }
    let sequence: number;
    try {
      const onStored = (at: number) => begin(shard.feed, at);
      sequence = await traced(span, this.#store(cell, next.record, bytes, onStored));
    } catch (error) {
      if (!hasCode(error, 'MESSAGE_TOO_LARGE')) throw error;
      return await this.#parking.park(cell, hot, item, error);
    }
    const { record, transition, isQuiet, newTimers, newEffects } = next;
    hot.record = afterSave(next, before, hot.record);
    hot.snapshot = result.done ? null : result.snapshot;
    saved(hot);
    note(cell, record, transition.to, stepper.chart);
    if (isQuiet) shard.feed.outstanding.delete(sequence);
    else this.#consequences.publish(cell, hot, sequence);
    for (const timer of newTimers) this.#timers.add(timer, { cell, id: timer.id });
    endStepSpan(this.#parts, cell, span, transition);
    if (shard.phase === 'active') this.#consequences.perform(cell, hot, newEffects, span?.context);
    this.stats.steps++;
    metrics.transition(stepper.chart.name);
    metrics.stepSeconds((clock.monotonic() - started) / 1000);
    if (!isQuiet) onStep?.(transition, record.snapshot.context);
    const held = settle(cell, item, { kind: 'stepped', transition });
    if (held) await held;
  }

  #store(
    { shard, id }: Cell,
    record: ActorRecord,
    bytes: Uint8Array,
    onStored?: Saving['onStored'],
  ): Promise<number> {
    const subject = this.#parts.subjects.state(shard.shard, id);
    const how: Saving = {
      ttlSeconds: ttlSecondsOf(record),
      onOver: this.#onSaveOver,
      onStored: (at) => {
        noteStored(shard, id, record, this.#parts.clock.monotonic());
        onStored?.(at);
      },
    };
    const entering = this.#saves.enter();
    const save = () => this.#saver.save(shard, subject, bytes, how);
    return entering ? entering.then(save) : save();
  }

  async #flush(cell: Cell, hot: Hot): Promise<void> {
    if (hot.record === null) return;
    hot.working = true;
    try {
      await this.#store(cell, hot.record, packRecord(hot.record));
      saved(hot);
    } catch (error) {
      this.#lose(cell.shard, error);
    } finally {
      hot.working = false;
      this.#startWork(cell, hot);
    }
  }
}
