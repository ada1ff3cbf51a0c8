/**
 * A replica's part in release-gated reconciliation: a node among others, a candidate for the leadership, the
 * leader's access to the release's actor, and the decision whether this replica may serve
 * (docs/decisions/0002-release-leadership.md).
 *
 * Owns the holding of the releases' shard. Promise: a leader knows everything that was written before it led.
 */

import type { FeatureParts } from '../../actors/feature.ts';
import type { HoldingSpec } from '../../actors/shards/holding.ts';
import { ledHolding } from '../../actors/shards/shard-run.ts';
import { type ActorId, actorId } from '../../base/ids.ts';
import { ledShard } from '../../base/limits.ts';
import type { ReleaseOwnEvent } from '../../machines/release/release-events.ts';
import {
  type BundleFacts,
  isOlder,
  type NodeFacts,
  newestRelease,
  unsuitedFor,
} from '../../machines/release/release-table.ts';
import { type Candidacy, createCandidacy } from './release-candidacy.ts';
import { ReleaseNode } from './release-node.ts';
import { createReleaseRoster, type ReleaseRosterKeeper } from './release-roster.ts';

export interface ReleaseDeskParts
  extends Pick<FeatureParts, 'bus' | 'subjects' | 'clock' | 'random' | 'log' | 'engine'> {
  readonly replica: string;
  /** As in its heartbeats. */
  readonly incarnation: string;
  /** The program's; a replica with a bundle has the bundle's release. */
  readonly release: string;
  readonly bundle: BundleFacts | null;
  /** This replica leads under that fence, or (0) no longer leads. */
  readonly onReign: (fence: number) => void;
}

/** A replica that has not read the state may not serve. */
const unread = 'the recorded state of the releases has not been read yet';

export class ReleaseDesk {
  readonly #parts: ReleaseDeskParts;
  readonly #roster: ReleaseRosterKeeper;
  readonly #candidacy: Candidacy;
  readonly #node: ReleaseNode;
  readonly #self: NodeFacts;
  #fence = 0;
  #blocked: string | null;
  #isStarted = false;

  constructor(parts: ReleaseDeskParts) {
    this.#parts = parts;
    const { bundle, replica } = parts;
    this.#self = {
      replica,
      release: bundle?.release ?? parts.release,
      bundle: bundle === null ? null : { name: bundle.name, minReconciler: bundle.minReconciler },
    };
    this.#blocked = bundle === null ? null : unread;
    this.#roster = createReleaseRoster({
      ...parts,
      bundle: bundle?.name ?? null,
      onChange: () => this.#onRoster(),
    });
    this.#node = new ReleaseNode({
      ...parts,
      node: this.#self,
      nodes: () => this.#roster.nodes(),
      forget: (node) => this.#roster.forget(node),
      directory: () => (this.#isStarted ? parts.engine.directory : null),
    });
    this.#candidacy = createCandidacy({
      ...parts,
      release: bundle?.release ?? null,
      nodes: () => this.#roster.nodes(),
      isEntered: () => this.#node.isEntered,
      onChange: () => parts.engine.ownership.plan(),
    });
  }

  /** Reads the written state and enters this replica as a node, before the engine starts to claim. */
  async start(): Promise<void> {
    await this.#roster.start();
    await this.#node.start();
  }

  /** The engine has met the others, so silence can be judged. */
  started(): void {
    this.#isStarted = true;
  }

  /** Why this replica must not serve, in words; null: it may. */
  get blocked(): string | null {
    return this.#blocked;
  }

  /** What an operator should know although this replica serves. */
  get remarks(): readonly string[] {
    const { bundle } = this.#parts;
    return bundle === null ? withoutBundle(this.#roster.nodes()) : leaderless(this.#roster.nodes());
  }

  /** The state of the candidacy chart: whether this replica may lead. */
  get candidacy(): string {
    return this.#candidacy.state;
  }

  /** The fence of this replica's leadership; 0: it does not lead. */
  get fence(): number {
    return this.#fence;
  }

  get id(): ActorId | null {
    const { bundle } = this.#parts;
    return bundle === null ? null : actorId('release', '', bundle.name);
  }

  /** The holding of the shard with the releases: every replica has it, and those that may lead claim it. */
  holding(): HoldingSpec {
    const work = this.#parts.engine.shards.ledWork();
    const end = (fence: number) => {
      if (fence !== this.#fence) return;
      this.#fence = 0;
      this.#candidacy.reigns(false);
      this.#parts.onReign(0);
    };
    return {
      name: ledHolding,
      stream: 'state',
      fenceSubject: this.#parts.subjects.fence(ledShard),
      mayHold: () => this.#candidacy.mayLead,
      work: {
        load: async (fence, signal) => {
          await work.load(fence, signal);
          await this.#roster.reached(fence, signal);
        },
        open: (fence) => {
          this.#fence = fence;
          this.#candidacy.reigns(true);
          this.#parts.onReign(fence);
          work.open(fence);
          this.#begin(fence);
        },
        drain: (fence) => {
          end(fence);
          return work.drain(fence);
        },
        drop: (fence) => {
          end(fence);
          work.drop(fence);
        },
      },
    };
  }

  /** Tells the release's actor what the leader saw. */
  tell(event: ReleaseOwnEvent, replaces?: string): void {
    const { id } = this;
    if (id !== null) this.#deliver(id, event, replaces);
  }

  /** Shuts down cleanly: the leadership ends, and the others need not wait for a dead node. */
  async stop(): Promise<void> {
    this.#candidacy.stop();
    await this.#node.stop();
    this.#roster.stop();
  }

  /** As if the process had died. */
  kill(): void {
    this.#candidacy.stop();
    this.#node.kill();
    this.#roster.stop();
  }

  #begin(fence: number): void {
    const { bundle, replica, engine } = this.#parts;
    const { id } = this;
    if (bundle === null || id === null) return;
    const run = engine.shards.runOf(id);
    // Releases of bundles that no replica of the newest release has any more.
    for (const other of run?.cells.keys() ?? []) {
      if (other !== id) this.#deliver(other, { type: 'release.retired' });
    }
    this.#deliver(id, { type: 'release.led', fence, replica, bundle, ...this.#roster.roster() });
  }

  #onRoster(): void {
    this.#node.check();
    this.#candidacy.update();
    this.#judge();
    const fence = this.#fence;
    if (fence === 0) return;
    this.tell({ type: 'release.observed', fence, ...this.#roster.roster() }, 'release.observed');
  }

  #judge(): void {
    const { bundle, log, engine } = this.#parts;
    if (bundle === null) return;
    const was = this.#blocked;
    this.#blocked = this.#roster.isRead ? unsuitedFor(this.#roster.roster().seen, this.#self) : unread;
    if (this.#blocked === was) return;
    if (this.#blocked !== null) log.warn({ reason: this.#blocked }, 'this replica must not serve');
    else log.info({ release: this.#self.release }, 'the recorded state suits this replica: it may serve');
    if ((was === null) !== (this.#blocked === null)) engine.servingChanged();
  }

  #deliver(id: ActorId, event: ReleaseOwnEvent, replaces?: string): void {
    const { shards, host } = this.#parts.engine;
    const run = shards.runOf(id);
    if (run === null) return;
    host.deliver(run, id, { event, cause: null, ...(replaces === undefined ? {} : { replaces }) });
  }
}

/** Replicas with a bundle beside this one without; usually a flag was forgotten (§1.4). */
function withoutBundle(nodes: readonly NodeFacts[]): readonly string[] {
  const names = nodes.filter(({ bundle }) => bundle !== null).map(({ replica }) => replica);
  return names.length === 0
    ? []
    : [`runs without --bundle beside replicas that have one: ${names.join(', ')}`];
}

/** Nobody may lead: the newest replica has no bundle, so what it would write is unknown (§1.5). */
function leaderless(nodes: readonly NodeFacts[]): readonly string[] {
  const newest = newestRelease(nodes);
  const those = nodes.filter(({ release }) => newest !== null && !isOlder(release, newest));
  if (those.length === 0 || those.some(({ bundle }) => bundle !== null)) return [];
  const names = those.map(({ replica, release }) => `${replica} (${release})`).join(', ');
  return [`nobody may lead the releases: all replicas of the newest release run without --bundle: ${names}`];
}
