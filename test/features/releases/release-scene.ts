/**
 * Replicas of different releases on one memory bus with virtual time. The real effect writes statuses; rounds
 * are counted and answered as the test says; a replica can be cut off, killed, or robbed of its leadership at
 * any point.
 */

import { expect } from 'vitest';
import type { EffectContext } from '../../../src/actors/effect-runner.ts';
import { Engine } from '../../../src/actors/engine.ts';
import type { FeatureRun } from '../../../src/actors/feature.ts';
import type { EffectData } from '../../../src/actors/host/step.ts';
import { ledShard } from '../../../src/base/limits.ts';
import type { PlainEvent } from '../../../src/base/plain-event.ts';
import { seededRandom } from '../../../src/base/random.ts';
import type { Transition } from '../../../src/base/views.ts';
import { decode, encodeJson } from '../../../src/bus/codec.ts';
import { type MemoryHub, memoryHub } from '../../../src/bus/memory/hub.ts';
import type { MemoryBus } from '../../../src/bus/memory/memory-bus.ts';
import { subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import { writeReleaseStatus } from '../../../src/features/releases/effects/release-status.ts';
import { ReleaseDesk } from '../../../src/features/releases/release-desk.ts';
import type { ReleaseRound } from '../../../src/machines/release/release-effects.ts';
import type { RoundSummary } from '../../../src/machines/release/release-events.ts';
import type { BundleFacts, ReleaseStatus } from '../../../src/machines/release/release-table.ts';
import { features } from '../../actors/test-features.ts';
import { bundle, clean } from '../../machines/release/release-script.ts';
import { VirtualClock } from '../../virtual-clock.ts';

export interface Round {
  readonly replica: string;
  readonly release: string;
  readonly fence: number;
  readonly at: number;
}

export interface SceneReplica {
  readonly name: string;
  readonly engine: Engine;
  readonly desk: ReleaseDesk;
  readonly bus: MemoryBus;
  stop(): Promise<void>;
  kill(): void;
}

export class ReleaseScene {
  readonly clock = new VirtualClock();
  readonly hub: MemoryHub;
  readonly subjects = subjectsOf('test');
  readonly rounds: Round[] = [];
  /** Every stored status, with its time. */
  readonly statuses: Array<ReleaseStatus & { readonly at: number }> = [];
  /** The result of a round. */
  summary: (round: Round) => RoundSummary | Promise<RoundSummary> = () => clean;
  /** Called as an effect begins, before it does anything. */
  onEffect: (effect: EffectData, replica: string) => Promise<void> | void = () => {};
  readonly outside: MemoryBus;
  #seed = 1;

  constructor() {
    this.hub = memoryHub({ clock: this.clock, cluster: 'test' });
    this.outside = this.hub.connect('outside');
    this.hub.observe((stream, { subject, data }) => {
      if (stream !== 'state' || subject !== this.subjects.releaseStatus('platform')) return;
      try {
        this.statuses.push({ ...(decode(data) as ReleaseStatus), at: this.clock.now() });
      } catch {
        // Rubbish that a test wrote on purpose.
      }
    });
  }

  async replica(name: string, bundle: BundleFacts | null, release = '0.1.0'): Promise<SceneReplica> {
    const bus = this.hub.connect(name);
    const random = seededRandom(this.#seed++);
    const silent = { debug() {}, info() {}, warn() {}, error() {} };
    const { clock, subjects } = this;
    const incarnation = random.id();
    const basics = { bus, subjects, clock, random, log: silent, replica: name, incarnation };
    let fence = 0;
    let desk: ReleaseDesk | undefined;
    const writeStatus = writeReleaseStatus({ bus, subjects, clock });
    const engine: Engine = new Engine({
      ...basics,
      metrics: { transition() {}, stepSeconds() {}, effect() {}, shardMove() {}, deadLetter() {} },
      release: bundle?.release ?? release,
      features,
      start: (view) => {
        const made = new ReleaseDesk({
          ...basics,
          release,
          bundle,
          engine: view,
          onReign: (now) => {
            fence = now;
          },
        });
        desk = made;
        return [runOf(made)];
      },
      runEffect: async (effect, run) => {
        await this.onEffect(effect, name);
        return this.#run(effect, run, { name, fence: () => fence, writeStatus });
      },
    });
    const starting = engine.start();
    await clock.advance(400);
    await starting;
    if (desk === undefined) throw new Error('an engine starts its features when it is made');
    const its = desk;
    return {
      name,
      engine,
      desk: its,
      bus,
      stop: async () => {
        const stopping = engine.stop(2_000).then(() => its.stop());
        await clock.advance(2_500);
        await stopping;
      },
      kill: () => {
        engine.kill();
        its.kill();
      },
    };
  }

  async #run(
    effect: EffectData,
    run: EffectContext,
    replica: { name: string; fence: () => number; writeStatus: ReturnType<typeof writeReleaseStatus> },
  ): Promise<PlainEvent> {
    if (effect.type === 'release-status.write')
      return replica.writeStatus(effect as never, run as never) as Promise<PlainEvent>;
    if (effect.type !== 'release.round') return { type: 'effect.settled', effect: effect.type, error: null };
    const { fence, round, release } = effect as unknown as ReleaseRound;
    if (replica.fence() !== fence)
      return { type: 'round.failed', fence, round, message: 'leadership is over' };
    const one = { replica: replica.name, release, fence, at: this.clock.now() };
    this.rounds.push(one);
    return { type: 'round.finished', fence, round, summary: await this.summary(one) };
  }

  /**
   * Somebody else claims the leadership over the leader's head, as after a pause that was taken for its
   * death, and lives on.
   */
  async usurp(lives = false): Promise<void> {
    const replica = 'usurper';
    const value = { replica, incarnation: 'x', at: this.clock.now(), releasedAt: null };
    const beat = () => {
      const said = {
        replica,
        incarnation: 'x',
        release: '0.1.0',
        leaving: false,
        serving: false,
        shards: [],
      };
      this.outside.publish(
        this.subjects.member(replica),
        encodeJson({ ...said, actors: 0, stepsPerSecond: 0 }),
      );
      this.clock.after(500, beat);
    };
    if (lives) beat();
    await this.outside.append(this.subjects.fence(ledShard), encodeJson(value));
  }

  /** The leader according to the fence. */
  leader(): string | null {
    const subject = this.subjects.fence(ledShard);
    const last = this.hub.stored('state').findLast((message) => message.subject === subject);
    return last === undefined ? null : (decode(last.data) as { replica: string | null }).replica;
  }

  transitions(id = 'release/_/platform'): Transition[] {
    return this.hub
      .stored('event')
      .map(({ data }) => JSON.parse(new TextDecoder().decode(data)) as Transition)
      .filter((transition) => transition.id === id);
  }

  state(): string | undefined {
    return this.transitions().at(-1)?.to;
  }

  /** Who owns ordinary shards. */
  owners(): readonly string[] {
    const found = new Set<string>();
    for (const { subject, data } of this.hub.stored('state')) {
      const shard = this.subjects.parseFence(subject);
      if (shard === undefined || shard === ledShard) continue;
      const { replica } = decode(data) as { replica: string | null };
      if (replica !== null) found.add(replica);
    }
    return [...found].sort();
  }

  nodes(): readonly string[] {
    return this.storedNodes().map(({ replica }) => replica);
  }

  storedNodes(): ReadonlyArray<{ readonly replica: string; readonly release: string }> {
    return this.hub.stored('state').flatMap(({ subject, data }) => {
      const replica = this.subjects.parseNode(subject);
      if (replica === undefined) return [];
      const { gone, release = '' } = decode(data) as { gone?: boolean; release?: string };
      return gone === true ? [] : [{ replica, release }];
    });
  }
}

const runOf = (desk: ReleaseDesk): FeatureRun => ({
  holdings: () => [desk.holding()],
  blocked: () => desk.blocked,
  remarks: () => desk.remarks,
  prepare: () => desk.start(),
  started: () => desk.started(),
});

export const old = bundle('0.1.0');
export const compatible = bundle('0.2.0', '0.1.0', '0.1.0');
/** What it writes is incompatible with 0.1.0. */
export const breaking = bundle('0.2.0', '0.2.0', '0.1.0');
/** It cannot serve with what 0.1.0 has written. */
export const demanding = bundle('0.2.0', '0.1.0', '0.2.0');

export const written = ({ statuses }: ReleaseScene) =>
  statuses.map(({ state, release, minimumCompatible }) => `${state} ${release} ${minimumCompatible}`);

export async function ready(scene: ReleaseScene): Promise<void> {
  for (let waited = 0; waited < 20 && scene.state() !== 'leading.keeping.resting'; waited++)
    await scene.clock.advance(500);
  expect(scene.state()).toBe('leading.keeping.resting');
}
