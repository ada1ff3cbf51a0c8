/**
 * Stores this replica as a node, and removes nodes that have died.
 *
 * Promises: while the replica lives, its node is stored. It was stored in one batch with a new epoch, so a
 * leader that read the nodes before cannot write as if the node did not exist. Any replica removes the node
 * of one that is no longer heard; if that one was only silent, it stores itself again, and the epoch moves
 * again. Removing a node does not move the epoch: what may be written with a node may be written without it.
 */

import type { FeatureParts } from '../../actors/feature.ts';
import type { Directory } from '../../actors/members/directory.ts';
import { backOffMs, createRepeats } from '../../base/back-off.ts';
import { sleep, type Timer, untilNextBeat } from '../../base/clock.ts';
import { asError, hasCode } from '../../base/errors.ts';
import { jittered } from '../../base/random.ts';
import { encodeJson } from '../../bus/codec.ts';
import type { NodeFacts } from '../../machines/release/release-table.ts';
import type { StoredNode } from './release-roster.ts';

export interface ReleaseNodeParts
  extends Pick<FeatureParts, 'bus' | 'subjects' | 'clock' | 'random' | 'log'> {
  readonly node: NodeFacts;
  readonly incarnation: string;
  readonly nodes: () => readonly StoredNode[];
  /** A known node is no longer stored. */
  readonly forget: (node: StoredNode) => void;
  /** null: the engine has not started. */
  readonly directory: () => Directory | null;
}

/** Interval of checking the nodes; their contents are followed, so this only detects dead ones. */
const lookMs = 1_000;
/** Pause after a replica is missed: its shards are taken over first. */
const absentMs = 2_000;
const retryMs = 250;
const retryMaxMs = 5_000;
/** The mark of a removed node expires after every replica has seen it. */
const goneSeconds = 3_600;

export class ReleaseNode {
  readonly #parts: ReleaseNodeParts;
  readonly #ended = new AbortController();
  #entering: Promise<void> | null = null;
  #timer: Timer | null = null;
  /** Monotonic ms; null: not yet. */
  #startedAt: number | null = null;
  /** When it was last stored, monotonic ms. */
  #storedAt = Number.NEGATIVE_INFINITY;
  /**
   * When each stored node was last present, by its sequence, monotonic ms. A new node has sent no beat yet,
   * so it counts from when it was first seen.
   */
  readonly #presentAt = new Map<number, number>();

  constructor(parts: ReleaseNodeParts) {
    this.#parts = parts;
  }

  /** Stores this replica; resolves when that is done. */
  async start(): Promise<void> {
    this.#startedAt = this.#parts.clock.monotonic();
    this.#look();
    await this.#enter();
  }

  /** Whether this process is among the nodes. */
  get isEntered(): boolean {
    const { node, incarnation } = this.#parts;
    return this.#parts.nodes().some((one) => one.replica === node.replica && one.incarnation === incarnation);
  }

  /** The roster changed: this replica may have been removed. */
  check(): void {
    if (!this.isEntered && this.#startedAt !== null && !this.#ended.signal.aborted) void this.#enter();
  }

  /** Removes this replica cleanly. */
  async stop(): Promise<void> {
    this.kill();
    const { node, incarnation } = this.#parts;
    const own = this.#parts
      .nodes()
      .find((one) => one.replica === node.replica && one.incarnation === incarnation);
    if (own) await this.#takeAway(own);
  }

  /** Ends without writing anything. */
  kill(): void {
    this.#timer?.cancel();
    this.#ended.abort(new Error('the replica ends'));
  }

  #enter(): Promise<void> {
    this.#entering ??= this.#store().finally(() => {
      this.#entering = null;
    });
    return this.#entering;
  }

  async #store(): Promise<void> {
    const { bus, subjects, clock, random, node, incarnation, log } = this.#parts;
    const { signal } = this.#ended;
    // If it was removed at once, another process has its name: the two would overwrite each other endlessly.
    const earlyMs = this.#storedAt + lookMs - clock.monotonic();
    if (earlyMs > 0) await sleep(clock, jittered(earlyMs, 0.3, random), signal).catch(() => {});
    if (this.isEntered) return;
    const repeats = createRepeats(clock);
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        const at = clock.now();
        await bus.appendAll([
          { subject: subjects.node(node.replica), data: encodeJson({ ...node, incarnation, at }) },
          { subject: subjects.nodesEpoch, data: encodeJson({ at, because: `node ${node.replica}` }) },
        ]);
        this.#storedAt = clock.monotonic();
        return;
      } catch (error) {
        const { message } = asError(error);
        if (repeats.isDue()) log.info({ error: message }, 'this replica is not entered as a node yet');
        const pause = backOffMs(attempt, retryMs, retryMaxMs);
        await sleep(clock, jittered(pause, 0.3, random), signal).catch(() => {});
      }
    }
  }

  #look(): void {
    const { clock } = this.#parts;
    this.#timer = clock.after(untilNextBeat(clock, lookMs), () => {
      for (const node of this.#parts.nodes()) if (this.#isDead(node)) void this.#takeAway(node);
      const there = new Set(this.#parts.nodes().map(({ sequence }) => sequence));
      for (const sequence of this.#presentAt.keys())
        if (!there.has(sequence)) this.#presentAt.delete(sequence);
      this.#look();
    });
  }

  #isDead({ replica, incarnation, sequence }: StoredNode): boolean {
    const { clock, directory, node } = this.#parts;
    const known = directory();
    const now = clock.monotonic();
    // Nobody is judged before all had time to be heard, or while nobody is heard.
    if (known === null || known.live() === null || now - (this.#startedAt ?? now) < absentMs) return false;
    if (replica === node.replica) return false;
    const isNew = !this.#presentAt.has(sequence);
    if (isNew || known.isPresent(replica, incarnation)) this.#presentAt.set(sequence, now);
    return now - (this.#presentAt.get(sequence) ?? now) > absentMs;
  }

  async #takeAway(node: StoredNode): Promise<void> {
    const { bus, subjects, log, forget } = this.#parts;
    const { replica, sequence } = node;
    const subject = subjects.node(replica);
    try {
      const guard = { subject, sequence };
      await bus
        .append(subject, encodeJson({ gone: true }), { guard, ttlSeconds: goneSeconds })
        .catch(async (error) => {
          if (!hasCode(error, 'BUS_CONFLICT')) throw error;
          // Another replica was faster, or the node has returned, which will be heard. Or this replica was
          // away for longer than the mark is kept.
          if ((await bus.last('state', subject)) === undefined) forget(node);
        });
    } catch (error) {
      // It is retried at the next check.
      log.debug({ node: replica, error: asError(error).message }, 'a node could not be removed');
    }
  }
}
