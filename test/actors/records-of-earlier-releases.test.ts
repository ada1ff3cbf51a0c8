/**
 * What this release does with everything that an earlier one stored: it goes on with it. The fixtures were
 * made by running that release.
 */

import { describe, expect, test } from 'vitest';
import { createAdmission } from '../../src/actors/admission.ts';
import { recordOf } from '../../src/actors/host/cell.ts';
import { type ActorRecord, unpackRecord } from '../../src/actors/host/records.ts';
import { createStepper, type Snapshot, stateText } from '../../src/actors/host/step.ts';
import { originOf } from '../../src/actors/shards/mail-origin.ts';
import { ledHolding } from '../../src/actors/shards/shard-run.ts';
import { World } from '../../src/actors/world/world.ts';
import { parseActorId } from '../../src/base/ids.ts';
import { ledShard } from '../../src/base/limits.ts';
import type { Transition } from '../../src/base/views.ts';
import { decode } from '../../src/bus/codec.ts';
import { readMessage } from '../../src/bus/envelope.ts';
import type { Chart } from '../../src/machines/chart.ts';
import { charts } from '../../src/replica/charts.ts';
import { featuresOf } from '../../src/replica/features.ts';
import { machines } from '../chart-of.ts';
import { samples } from '../machines/samples.ts';
import { TestCluster, type TestReplica } from './harness.ts';
import {
  actorsOf,
  clusterWith,
  linesOf,
  type RecordedActor,
  recordedSubjects,
  releases,
  wavesOf,
} from './recorded.ts';

const effectTypes: readonly string[] = charts.flatMap(({ effects }) => effects.map(({ type }) => type));
const ended = { subjects: recordedSubjects, earlierHeardAt: () => 0 };
const { admit } = createAdmission(featuresOf().flatMap(({ kinds }) => kinds));

const durable = Object.values(machines).filter((chart) => chart.durable);
const kinds = durable.map(({ name }) => name);
const allOf = (release: string) => kinds.flatMap((kind) => actorsOf(release, kind));
const wavesWith = (release: string) =>
  wavesOf(allOf(release)).map((wave, index) => [index + 1, wave.length, wave] as const);
const textOf = ({ snapshot }: ActorRecord) => stateText(snapshot.value);

function chartOf({ record }: RecordedActor): Chart {
  const chart = machines[record.machine];
  if (!chart) throw new Error(`this release has no machine ${record.machine}`);
  return chart;
}

function restored(actor: RecordedActor): Snapshot {
  const { record } = actor;
  return createStepper(chartOf(actor)).restore(record.snapshot, record.version);
}

test('there is a fixture of every release that may be rolled over from', () => {
  expect(releases.length).toBeGreaterThan(0);
});

/** Kinds that the release knew; what came later has no record of it. */
const kindsOf = (release: string) => kinds.filter((kind) => linesOf(release, kind).length > 0);

test('every kind but those that came later has records of the first release', () => {
  const later = ['routegate'];
  expect(kinds.filter((kind) => !kindsOf(releases[0] ?? '').includes(kind))).toEqual(later);
});

describe.each(releases)('records of %s', (release) => {
  test.each(kindsOf(release))(
    '%s: records stand in several states, and their bytes are what the lines say',
    (kind) => {
      const actors = actorsOf(release, kind);
      expect(new Set(actors.map(({ record }) => textOf(record))).size).toBeGreaterThanOrEqual(3);
      for (const { record, says } of actors) expect(record).toEqual(says);
    },
  );

  test.each(kindsOf(release))(
    '%s: an actor is restored into the state in which it was left, with all that it knew',
    (kind) => {
      for (const actor of actorsOf(release, kind).filter(({ record }) => !record.gone)) {
        const snapshot = restored(actor);
        const { version, snapshot: stored } = actor.record;
        expect(snapshot.status).toBe('active');
        if (version !== chartOf(actor).version) continue;
        expect(snapshot.value).toEqual(stored.value);
        expect(snapshot.context).toEqual(stored.context);
      }
    },
  );

  test.each(kindsOf(release))('%s: deadlines are ones that the state waits for', (kind) => {
    for (const actor of actorsOf(release, kind).filter(({ record }) => !record.gone)) {
      const awaited = new Set(restored(actor)._nodes.flatMap(({ ownEvents }) => ownEvents));
      for (const { event } of actor.record.timers) expect(awaited).toContain(event.type);
    }
  });

  test('effects that wait in outboxes are ones that can be run', () => {
    const waiting = allOf(release).flatMap(({ record }) => record.outbox.map(({ effect }) => effect.type));
    expect(new Set(waiting).size).toBeGreaterThan(10);
    expect(waiting.filter((type) => !(effectTypes as readonly string[]).includes(type))).toEqual([]);
  });

  test('mail of it is admitted', () => {
    const letters = linesOf(release, 'mail');
    expect(letters.length).toBeGreaterThan(3);
    for (const letter of letters) {
      const { parseMail, parseTell } = recordedSubjects;
      const id = (parseMail(letter.subject) ?? parseTell(letter.subject))?.id ?? 'pod/_/_';
      const { event } = readMessage(letter);
      const origin = originOf(ended, { sendIsOpenUntil: letter.storedAt }, letter, id);
      expect(admit(parseActorId(id).kind, event, origin)).toMatchObject({ type: event.type });
    }
  });

  test('the world that it mirrored is known', async () => {
    const cluster = new TestCluster();
    const bus = cluster.hub.connect(release);
    const ports = { bus, subjects: cluster.subjects, clock: cluster.clock };
    const unreadable: object[] = [];
    const log = { debug() {}, info() {}, warn() {}, error: (facts: object) => void unreadable.push(facts) };
    const world = new World({ ...ports, log, isAlive: () => true });
    const objects = linesOf(release, 'world').flatMap((line) => {
      const place = recordedSubjects.parseWorld(line.subject);
      return place === undefined ? [] : [{ ...line, ...place }];
    });
    for (const { resource, namespace, name, data } of objects)
      await bus.append(cluster.subjects.world(resource, namespace, name), data);
    await world.start();
    expect(objects.length).toBeGreaterThan(10);
    for (const { resource, namespace, name, data } of new Map(
      objects.map((one) => [one.subject, one]),
    ).values()) {
      const digest = decode(data) as { deleted?: boolean };
      const known = digest.deleted === true ? null : digest;
      expect(world.get(resource as never, namespace, name)).toEqual(known);
    }
    expect(unreadable).toEqual([]);
    world.stop();
  });

  test('steps on its feed are of actors and events that this release has', () => {
    const steps = linesOf(release, 'events').map(
      ({ data }) => JSON.parse(new TextDecoder().decode(data)) as Transition,
    );
    expect(steps.length).toBeGreaterThan(10);
    for (const { id, event, effects } of steps) {
      const known: readonly string[] = machines[parseActorId(id).kind]?.machine.events ?? [];
      expect(known).toContain(event.type);
      for (const { type } of effects) expect(effectTypes).toContain(type);
    }
  });

  test.each(wavesWith(release))(
    'wave %i: a replica takes over %i actors; none is parked, deadlines that are over are taken and others stand, effects run again',
    async (_, __, wave) => {
      const { cluster, replica } = await takenOver(await clusterWith(release, wave), wave);
      const now = cluster.clock.now();
      const asked = new Set(cluster.ran.map(({ key }) => key));
      for (const { id, record } of wave) {
        const cell = cellOf(replica, id);
        expect([id, cell?.unreadable, cell?.error]).toEqual([id, null, null]);
        expect(record.outbox.map(({ key }) => key).filter((key) => !asked.has(key))).toEqual([]);
        if (record.gone) continue;
        // A deadline that the chart ignored is over, and stays in the store until something is saved.
        const { timers, rev } = (cell && recordOf(cell)) ?? record;
        expect(timers.filter(({ at }) => at < now - slackMs)).toEqual([]);
        // A state of the earlier release may have waited without a deadline that it has now.
        const standing = record.timers.filter(({ at }) => at > now);
        if (rev === record.rev) expect(timers).toEqual(expect.arrayContaining(standing));
      }
      replica.engine.kill();
    },
  );

  test.each(wavesWith(release))(
    'wave %i: each of the %i actors takes one more event; it is the next revision, under the new fence; what was not told yet and what is new are told once',
    async (_, __, wave) => {
      const saved = new Map<string, ActorRecord[]>();
      const before = await clusterWith(release, wave, { checkpoints: false });
      const { cluster, replica } = await takenOver(before, wave, (id, record) => {
        saved.set(id, [...(saved.get(id) ?? []), record]);
      });
      for (const actor of wave) await takeOneMore(cluster, replica, actor, saved);
      await cluster.clock.advance(2_000);
      for (const { id, record, kind } of wave) {
        const fence = replica.engine.shards.runOf(id)?.fence;
        const steps = stepsIn(record, saved.get(id) ?? []);
        expect([id, steps[0]?.rev]).toEqual([id, record.rev + 1]);
        expect(steps.map(({ rev }) => rev)).toEqual(steps.map((_step, index) => record.rev + 1 + index));
        for (const step of steps) expect(step).toMatchObject({ fence, version: machines[kind]?.version });
        const told = cluster.transitions().filter((step) => step.id === id);
        expect(told.map(({ rev }) => rev)).toEqual([...record.feed, ...steps].map(({ rev }) => rev));
      }
      replica.engine.kill();
    },
  );
});

/** A deadline is taken within this time, ms. */
const slackMs = 500;

const cellOf = ({ engine }: TestReplica, id: RecordedActor['id']) => engine.shards.runOf(id)?.cells.get(id);

/**
 * A replica of this release that owns every shard, after whoever wrote the records has gone; its effects do
 * not end.
 */
async function takenOver(
  cluster: TestCluster,
  wave: readonly RecordedActor[],
  onSaved: (id: string, record: ActorRecord) => void = () => {},
): Promise<{ cluster: TestCluster; replica: TestReplica }> {
  cluster.outside = () => new Promise(() => {});
  cluster.hub.observe((stream, { subject, data }) => {
    const id = stream === 'state' ? cluster.subjects.parseState(subject)?.id : undefined;
    if (id !== undefined && data.byteLength > 0) onSaved(id, unpackRecord(data, id));
  });
  const replica = await cluster.replica('later-release');
  const { engine } = replica;
  engine.ownership.add({
    name: ledHolding,
    stream: 'state',
    fenceSubject: cluster.subjects.fence(ledShard),
    work: engine.shards.ledWork(),
  });
  const isOwned = () => wave.every(({ id }) => engine.shards.runOf(id)?.phase === 'active');
  for (let waited = 0; !isOwned() && waited < 60_000; waited += 250) await cluster.clock.advance(250);
  expect(isOwned()).toBe(true);
  await cluster.clock.advance(slackMs);
  return { cluster, replica };
}

/** Saves at a new revision; a record is written again at its revision to take finished effects out of it. */
function stepsIn(before: ActorRecord, saved: readonly ActorRecord[]): ActorRecord[] {
  return saved.filter(({ rev }, index) => rev !== (saved[index - 1]?.rev ?? before.rev));
}

const questions: Readonly<Record<string, readonly object[]>> = {
  pod: [{ type: 'pod.recheck' }],
  service: [{ type: 'service.recheck' }],
  workload: [{ type: 'workload.recheck' }],
  domain: [{ type: 'domain.recheck' }],
  issuer: [{ type: 'issuer.recheck' }],
};

/** Says to the actor what its kind takes, until it has taken a step. */
async function takeOneMore(
  cluster: TestCluster,
  { engine }: TestReplica,
  { id, kind, record }: RecordedActor,
  saved: ReadonlyMap<string, readonly ActorRecord[]>,
): Promise<void> {
  for (const event of [...(questions[kind] ?? []), ...(samples[kind]?.events ?? [])]) {
    if (stepsIn(record, saved.get(id) ?? []).length > 0) return;
    const run = engine.shards.runOf(id);
    if (run) engine.host.deliver(run, id, { event: { ...(event as { type: string }) }, cause: null });
    await cluster.clock.advance(20);
  }
}
