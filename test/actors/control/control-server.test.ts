/**
 * What a running replica tells of its actors: lists in pages, one actor, actors whose records nobody can
 * read.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { createControl } from '../../../src/actors/control/control-client.ts';
import { serveControl } from '../../../src/actors/control/control-server.ts';
import type { ActorId } from '../../../src/base/ids.ts';
import { limits } from '../../../src/base/limits.ts';
import type { ControlPort, ListAnswer, ListRequest } from '../../../src/base/views.ts';
import type { Bus } from '../../../src/bus/bus.ts';
import { isNobody, isUnanswered } from '../../../src/bus/bus-errors.ts';
import { decode, encode, encodeJson } from '../../../src/bus/codec.ts';
import { shardOf } from '../../../src/bus/partition.ts';
import { pod, TestCluster, type TestReplica } from '../harness.ts';

let cluster: TestCluster;

/** A replica that answers, with so many Pods and Services, all at rest. */
async function shop(pods: number, services: number, bend = (bus: Bus): Bus => bus): Promise<ControlPort> {
  const { engine, bus, name, requests } = await cluster.replica('a');
  await cluster.shop(pods, services);
  const { clock, subjects } = cluster;
  serveControl({ engine, bus: bend(bus), subjects, clock, replica: name, release: '1.0.0', requests });
  await cluster.clock.advance(5_000);
  return createControl({ bus, subjects });
}

/** An event stream without a leader: nothing in it can be followed. */
const withoutEvents = (bus: Bus): Bus => ({
  ...bus,
  follow: (stream, options) => (stream === 'event' ? new Promise(() => {}) : bus.follow(stream, options)),
});

async function answerOf<T>(asked: Promise<T>): Promise<T> {
  await cluster.clock.advance(2_000);
  return asked;
}

async function idsOf(control: ControlPort, request: ListRequest): Promise<readonly string[]> {
  const { actors } = await answerOf(control.list(request));
  return actors.map(({ id }) => id);
}

/** A record that no release wrote, as if it had been there before the replica came. */
async function scribble(id: ActorId, bytes: Uint8Array): Promise<void> {
  const bus = cluster.hub.connect('scribbler');
  await bus.append(cluster.subjects.state(shardOf(id), id), bytes);
}

beforeEach(() => {
  cluster = new TestCluster();
});

describe('rpc.list', () => {
  test('pages show every actor once, in the order of their ids', async () => {
    const control = await shop(4, 3);
    const all: string[] = [];
    let after: string | null = null;
    do {
      const page: ListAnswer = await answerOf(
        control.list({ limit: 2, ...(after === null ? {} : { after }) }),
      );
      expect(page.actors.length).toBeLessThanOrEqual(2);
      all.push(...page.actors.map(({ id }) => id));
      after = page.next;
    } while (after !== null);
    expect(all).toEqual([
      ...[0, 1, 2, 3].map((n) => `pod/shop/web-${n}`),
      ...[0, 1, 2].map((n) => `service/shop/svc-${n}`),
    ]);
  });

  test('an actor that a former owner still lists is shown once, as the one that went on knows it', async () => {
    const control = await shop(1, 0);
    const [row] = (await answerOf(control.list({}))).actors;
    const former = { ...row, rev: 1, state: 'gated.proving.asking', owner: 'former' };
    const data = encodeJson({ shards: [], actors: [former] });
    const { subjects } = cluster;
    const bus = cluster.hub.connect('former');
    bus.subscribe(subjects.peer('list'), ({ reply }) => bus.publish(reply, data));
    expect((await answerOf(control.list({}))).actors).toEqual([row]);
  });

  test('kind, namespace and state choose', async () => {
    const control = await shop(2, 1);
    const pods = ['pod/shop/web-0', 'pod/shop/web-1'];
    expect(await idsOf(control, { kind: 'pod' })).toEqual(pods);
    expect(await idsOf(control, { namespace: 'yard' })).toEqual([]);
    expect(await idsOf(control, { state: 'ready' })).toEqual(pods);
    expect(await idsOf(control, { state: 'settled' })).toEqual(['service/shop/svc-0']);
    for (const state of ['proving', 'gated.proving', 'gated.proving.asking', 'parked'])
      expect([state, await idsOf(control, { state })]).toEqual([state, []]);
    const [, whole] = (await answerOf(control.list({}))).actors.map(({ state }) => state).reverse();
    expect(await idsOf(control, { kind: 'pod', state: whole ?? '' })).toEqual(pods);
  });

  test.each([
    [{ kind: 'pods' }, 'there is no kind "pods"'],
    [{ kind: 7 }, 'its field "kind" is not text'],
    [{ limit: 0 }, 'its field "limit" is not a whole number from 1 on'],
    [{ limit: '5' }, 'its field "limit" is not a whole number'],
    [{ health: 'fine' }, 'its field "health" is not ok, waiting or wrong'],
    [{ facts: 1 }, 'its field "facts" is not true or false'],
    [{ after: 'zzz' }, '"zzz" is not an actor id'],
    [{ state: 'prooving' }, 'state: "prooving" is not allowed; allowed: a state of some kind (with'],
    [{ kind: 'pod', state: 'sampling' }, 'state: "sampling" is not allowed; allowed: asking, '],
    [{ kind: 'service', state: 'sampling,prooving' }, 'state: "sampling,prooving" is not allowed; allowed: '],
    [[], 'it is not an object'],
  ])('%j could match nothing: it is refused, with what is allowed', async (request, reason) => {
    const control = await shop(1, 0);
    const answer = control.list(request as ListRequest).catch(String);
    expect(await answerOf(answer)).toContain(reason);
  });

  test('a limit above the most is that many', async () => {
    const control = await shop(2, 0);
    expect(await idsOf(control, { limit: 1_000_000 })).toHaveLength(2);
  });

  test('actors that are gone are not listed', async () => {
    const control = await shop(2, 1);
    await cluster.put('pods', 'shop', 'web-1', null);
    await cluster.clock.advance(5_000);
    expect(await idsOf(control, { kind: 'pod' })).toEqual(['pod/shop/web-0']);
  });

  test('a row of an actor at rest tells what the actor would', async () => {
    const control = await shop(1, 1);
    const { actors } = await answerOf(control.list({ kind: 'pod' }));
    const view = await answerOf(control.get('pod/shop/web-0'));
    const { id, state, since, owner, shard, rev, nextTimer, lastError, parked, reason } = view ?? {};
    expect(actors).toEqual([{ id, state, since, owner, shard, rev, nextTimer, lastError, parked, reason }]);
    expect(state).toBe('gated.ready.proven');
    expect(reason).toMatchObject({ health: 'ok', text: expect.stringMatching(/.+/), since });
  });

  test('health chooses, and facts come where they are asked for', async () => {
    const control = await shop(1, 1);
    expect(await idsOf(control, { health: 'ok' })).toEqual(['pod/shop/web-0', 'service/shop/svc-0']);
    expect(await idsOf(control, { health: 'wrong' })).toEqual([]);
    const { actors } = await answerOf(control.list({ kind: 'pod', facts: true }));
    expect(actors[0]?.facts).toEqual(expect.any(Array));
  });
});

test('rpc.get: an actor is told of without its history while the event stream has no leader', async () => {
  const control = await shop(1, 1, withoutEvents);
  const view = await answerOf(control.get('pod/shop/web-0'));
  expect(view).toMatchObject({ state: 'gated.ready.proven', recent: [] });
});

describe('rpc.shards', () => {
  test('a replica has as many actors as it lists, whatever went and came back under its name', async () => {
    const control = await shop(3, 2);
    for (let round = 0; round < 3; round++) {
      await cluster.put('pods', 'shop', 'web-0', null);
      await cluster.clock.advance(2_000);
      await cluster.put('pods', 'shop', 'web-0', pod(0, { uid: `again-${round}` }));
      await cluster.clock.advance(2_000);
    }
    await cluster.put('pods', 'shop', 'web-1', null);
    await cluster.clock.advance(5_000);
    const { replicas, shards } = await answerOf(control.shards());
    expect(await idsOf(control, {})).toHaveLength(4);
    expect(replicas.filter(({ replica }) => replica !== 'mirror').map(({ actors }) => actors)).toEqual([4]);
    expect(shards.reduce((sum, { actors }) => sum + actors, 0)).toBe(4);
  });
});

describe('records that nobody can read', () => {
  const strange = 'pod/shop/strange';

  test.each([
    ['no record', encode('nonsense')],
    ['no MessagePack', Uint8Array.from([0xc1])],
  ])('an actor with %s is listed as parked, with the reason, and hides nobody', async (_, bytes) => {
    await scribble(strange, bytes);
    const control = await shop(1, 0);
    const { actors } = await answerOf(control.list({}));
    expect(actors).toMatchObject([
      { id: strange, state: 'parked', parked: true, lastError: expect.stringMatching(/.+/) },
      { id: 'pod/shop/web-0', parked: false },
    ]);
    expect(await idsOf(control, { state: 'parked' })).toEqual([strange]);
    expect(await answerOf(control.get(strange))).toMatchObject({ state: 'parked', context: null });
  });
});

describe('rpc.send', () => {
  test('who sent stands in the step, in what is explained, and in the log, of which there are few lines', async () => {
    const { engine, bus, name, requests } = await cluster.replica('a');
    await cluster.shop(1, 1);
    const { clock, subjects } = cluster;
    const lines: object[] = [];
    const log = { ...engine.parts.log, info: (facts: object) => void lines.push(facts) };
    Object.assign(engine.parts, { log });
    serveControl({ engine, bus, subjects, clock, replica: name, release: '1.0.0', requests });
    const control = createControl({ bus, subjects });
    await cluster.clock.advance(5_000);
    const id = 'pod/shop/web-0';
    const answer = await answerOf(control.send(id, { type: 'pod.recheck' }, 'http:alice'));
    expect(answer).toMatchObject({ accepted: true, transition: { cause: 'rpc.send by http:alice' } });
    const view = await answerOf(control.get(id));
    expect(view?.recent.map(({ cause }) => cause)).toContain('rpc.send by http:alice');
    const refused = await answerOf(control.send(id, { type: 'route.proven' }));
    expect(refused).toMatchObject({ accepted: false, code: 'MESSAGE_NOT_ALLOWED' });
    expect(lines).toEqual([
      { actor: id, event: 'pod.recheck', by: 'http:alice', outcome: 'stepped' },
      { actor: id, event: 'route.proven', by: 'unknown', outcome: 'MESSAGE_NOT_ALLOWED' },
    ]);
    lines.length = 0;
    const many = Array.from({ length: 50 }, () => control.send(id, { type: 'pod.recheck' }, 'http:alice'));
    await answerOf(Promise.all(many));
    expect(lines).toHaveLength(10);
    await answerOf(control.send(id, { type: 'pod.recheck' }, 'http:alice'));
    expect(lines.at(-1)).toMatchObject({ leftOut: 40 });
  });

  test('a field that the event does not have is refused to people, and left out for programs', async () => {
    const control = await shop(1, 1);
    const { subjects } = cluster;
    const id = 'pod/shop/web-0';
    const event = { type: 'pod.recheck', force: true };
    for (const by of [undefined, 'http:alice'])
      expect(await answerOf(control.send(id, event, by))).toEqual({
        accepted: false,
        code: 'MESSAGE_UNKNOWN_EVENT',
        reason: 'pod.recheck has no field "force". It takes no fields',
      });
    const program = cluster.hub.connect('program');
    const timeoutMs = 5_000;
    const { data } = await answerOf(program.request(subjects.rpcSend(id), encodeJson(event), { timeoutMs }));
    expect(decode(data)).toMatchObject({ accepted: true });
  });
});

describe('a person who asks over NATS', () => {
  const id = 'pod/shop/web-0';
  const serving = ({ name, engine, bus, requests }: TestReplica) => {
    const { clock, subjects } = cluster;
    return serveControl({ engine, bus, subjects, clock, replica: name, release: '1.0.0', requests });
  };
  const person = () => {
    const { hub, clock, subjects } = cluster;
    return createControl({ bus: hub.connect('person'), subjects, persistence: clock });
  };

  test('while replicas are on their way back to NATS is answered, and what is sent is taken once', async () => {
    const replica = await cluster.replica('a');
    await cluster.shop(1, 0);
    await cluster.clock.advance(5_000);
    const asked = Promise.all([person().get(id), person().send(id, { type: 'pod.recheck' })]);
    cluster.clock.after(700, () => void serving(replica));
    const [view, sent] = await cluster.whileTimePasses(asked);
    expect([view?.id, sent.accepted]).toEqual([id, true]);
    expect(cluster.transitions().filter(({ event }) => event.type === 'pod.recheck')).toHaveLength(1);
  });

  test('where none runs is told so within two seconds', async () => {
    const from = cluster.clock.monotonic();
    const told = await cluster.whileTimePasses(
      person()
        .get(id)
        .catch((error) => error),
    );
    expect(isNobody(told)).toBe(true);
    expect(cluster.clock.monotonic() - from).toBeLessThan(2_000);
  });

  test('about an actor whose owner has just died is answered by the next owner', async () => {
    const replicas = [await cluster.replica('a'), await cluster.replica('b')];
    replicas.forEach(serving);
    await cluster.shop(1, 0);
    await cluster.clock.advance(10_000);
    const { owner } = (await cluster.whileTimePasses(person().get(id))) ?? {};
    replicas.find(({ name }) => name === owner)?.bus.faults.setLink('silent');
    const next = await cluster.whileTimePasses(person().get(id));
    expect(['a', 'b']).toContain(owner);
    expect(next?.owner).not.toBe(owner);
  });

  test('to send something that nobody answers has sent it once', async () => {
    let arrived = 0;
    const { hub, subjects, clock } = cluster;
    hub.connect('deaf').subscribe(subjects.rpcSend(id), () => void arrived++);
    const from = clock.monotonic();
    const told = await cluster.whileTimePasses(
      person()
        .send(id, { type: 'pod.recheck' })
        .catch((error) => error),
    );
    expect([isUnanswered(told), arrived]).toEqual([true, 1]);
    expect(clock.monotonic() - from).toBeGreaterThanOrEqual(limits.cliAnswerMs);
  });
});
