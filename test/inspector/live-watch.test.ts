/**
 * The live feed on several engines and one memory bus: what is told to whom, and that nothing is told to
 * nobody.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createControl } from '../../src/actors/control/control-client.ts';
import { serveControl } from '../../src/actors/control/control-server.ts';
import { readHistory } from '../../src/actors/control/history.ts';
import { startInspection } from '../../src/actors/control/inspection.ts';
import type { ActorId } from '../../src/base/ids.ts';
import { limits } from '../../src/base/limits.ts';
import { encodeJson } from '../../src/bus/codec.ts';
import type { MemoryBus } from '../../src/bus/memory/memory-bus.ts';
import { type LiveSession, OwnSession } from '../../src/inspector/live/live.ts';
import type { LiveMessage } from '../../src/inspector/live/live-messages.ts';
import { LiveWatch } from '../../src/inspector/live/live-watch.ts';
import { startStately, stateValue } from '../../src/inspector/live/stately.ts';
import { charts } from '../../src/replica/charts.ts';
import { pod, TestCluster, type TestReplica } from '../actors/harness.ts';

let cluster: TestCluster;
let replicas: TestReplica[];
let liveWatch: LiveWatch;
let watcher: MemoryBus;
/** Messages between replicas, by the second word of their subject. */
let told: string[];
/** What a replica says of itself. */
const unwell = new Map<string, string[]>();

async function replica(name: string): Promise<TestReplica> {
  const one = await cluster.replica(name);
  const { clock, subjects } = cluster;
  const troubles = () => unwell.get(name) ?? [];
  const options = { engine: one.engine, bus: one.bus, subjects, clock, replica: name, troubles };
  startInspection(options);
  serveControl({ ...options, release: '1.0.0', requests: [] });
  return one;
}

beforeEach(async () => {
  cluster = new TestCluster();
  const { clock, subjects } = cluster;
  replicas = [await replica('a'), await replica('b')];
  // Until both own their half.
  await cluster.clock.advance(20_000);
  watcher = cluster.hub.connect('watcher');
  const bus = watcher;
  liveWatch = new LiveWatch({
    bus,
    subjects,
    clock,
    control: createControl({ bus, subjects }),
    watcher: 'w',
  });
  told = [];
  cluster.hub.connect('spy').subscribe(subjects.peerAll, ({ subject }) => {
    const [what = ''] = subjects.parsePeer(subject) ?? [];
    told.push(what);
  });
});

afterEach(() => liveWatch.stop());

const steps = () => told.filter((what) => what === 'rows' || what === 'step').length;

function listen(): { messages: LiveMessage[]; session: LiveSession; line: { unreadBytes: number } } {
  const messages: LiveMessage[] = [];
  const line = { unreadBytes: 0 };
  const control = createControl({ bus: cluster.hub.connect('page'), subjects: cluster.subjects });
  const session = new OwnSession(
    { liveWatch, control, clock: cluster.clock, replica: 'a', release: '1.0.0' },
    { send: (text) => void messages.push(JSON.parse(text)), unread: () => line.unreadBytes },
  );
  return { messages, session, line };
}

const rowsOf = (messages: readonly LiveMessage[]) => {
  const rows = new Map<ActorId, string>();
  for (const message of messages) {
    if (message.type !== 'rows') continue;
    for (const { id, state } of message.rows) rows.set(id, state);
    for (const id of message.ended) rows.delete(id);
  }
  return rows;
};

describe('while nobody watches', () => {
  test('replicas tell nothing, however much happens', async () => {
    await cluster.shop(5, 3);
    await cluster.clock.advance(5_000);
    expect(cluster.transitions().length).toBeGreaterThan(20);
    expect(told).toEqual([]);
  });

  test('a watcher that went silent is forgotten when its time is over', async () => {
    const bus = cluster.hub.connect('gone');
    const watch = { watcher: 'gone', rows: true, steps: false, actors: [], ttlMs: 60_000 };
    bus.publish(cluster.subjects.peer('watch'), encodeJson(watch));
    await cluster.shop(1, 1);
    await cluster.clock.advance(1_000);
    expect(steps()).toBeGreaterThan(0);
    await cluster.clock.advance(limits.inspectWatchMs);
    told.length = 0;
    await cluster.put('pods', 'shop', 'web-1', pod(1));
    await cluster.clock.advance(3_000);
    expect(cluster.states()['pod/shop/web-1']).toBe('gated.ready.proven');
    expect(steps()).toBe(0);
  });

  test('foreign bytes on the subject of watches watch nothing', async () => {
    const bus = cluster.hub.connect('foreign');
    bus.publish(cluster.subjects.peer('watch'), new Uint8Array([0xc1]));
    bus.publish(cluster.subjects.peer('watch'), encodeJson({ watcher: 1 }));
    await cluster.shop(1, 1);
    expect(steps()).toBe(0);
  });

  test.each([
    ['that are no message', new Uint8Array([0xc1])],
    ['that are null', encodeJson(null)],
    ['of another form', encodeJson({ rows: 7, after: 7, sequence: {}, actors: 'all' })],
  ])('foreign bytes %s, on any subject between replicas, are no error, and feeds go on', async (_, bytes) => {
    const { session } = listen();
    const id = 'pod/shop/web-0';
    session.take(JSON.stringify({ rows: true, actor: id }));
    await cluster.shop(1, 1);
    const foreign = cluster.hub.connect('foreign');
    const { subjects } = cluster;
    for (const what of ['watch', 'list', 'shards', 'rows', 'letter'])
      foreign.publish(subjects.peer(what), bytes, { reply: 'foreign.inbox' });
    foreign.publish(subjects.peer('step', 'pod', 'shop', 'web-0'), bytes);
    await cluster.clock.advance(1_000);
    for (const { bus } of [...replicas, { bus: watcher }]) expect(bus.counters.handlerErrors).toBe(0);
    expect(liveWatch.rows.has(id)).toBe(true);
    session.end();
  });
});

describe('rows', () => {
  test('are those of the whole cluster, whichever replica owns them, and stay right', async () => {
    await cluster.shop(12, 4);
    await cluster.clock.advance(3_000);
    const { messages, session } = listen();
    session.take(JSON.stringify({ rows: true, actor: null }));
    await cluster.clock.advance(1_000);
    expect(Object.fromEntries(rowsOf(messages))).toEqual(cluster.states());
    await cluster.put('pods', 'shop', 'web-9', pod(9));
    await cluster.put('pods', 'shop', 'web-0', null);
    await cluster.clock.advance(4_000);
    const rows = rowsOf(messages);
    expect(rows.get('pod/shop/web-9')).toBe('gated.ready.proven');
    expect(rows.has('pod/shop/web-0')).toBe(false);
    const owners = new Set([...liveWatch.rows.values()].map(({ owner }) => owner));
    expect([...owners].sort()).toEqual(['a', 'b']);
  });

  test('of an actor that steps often are sent once for each bundle', async () => {
    const { messages, session } = listen();
    session.take(JSON.stringify({ rows: true, actor: null }));
    await cluster.shop(1, 20);
    for (let n = 0; n < 20; n++) {
      await cluster.put('pods', 'shop', 'web-0', pod(0, { uid: `another-${n}` }));
      await cluster.clock.advance(5);
    }
    await cluster.clock.advance(2_000);
    const steps = cluster.transitions().filter(({ id }) => id === 'pod/shop/web-0');
    const bundles = messages.flatMap((message) =>
      message.type === 'rows' ? message.rows.filter(({ id }) => id === 'pod/shop/web-0') : [],
    );
    expect(steps.length).toBeGreaterThan(20);
    expect(bundles.length).toBeLessThan(steps.length / 2);
    // Who opens a page later sees when it happened, too.
    expect([bundles.at(-1)?.at, liveWatch.rows.get('pod/shop/web-0')?.at]).toEqual(
      [1, 2].map(() => steps.at(-1)?.at),
    );
  });

  test('wait while the client does not read, and are then sent as they are', async () => {
    const { messages, session, line } = listen();
    session.take(JSON.stringify({ rows: true, actor: null }));
    await cluster.clock.advance(500);
    line.unreadBytes = limits.inspectUnreadBytes + 1;
    await cluster.shop(3, 2);
    await cluster.clock.advance(5_000);
    expect(rowsOf(messages).size).toBe(0);
    line.unreadBytes = 0;
    await cluster.clock.advance(1_000);
    expect(Object.fromEntries(rowsOf(messages))).toEqual(cluster.states());
  });

  test('say who owns a shard after it moved', async () => {
    await cluster.shop(6, 2);
    await cluster.clock.advance(3_000);
    const { messages, session } = listen();
    session.take(JSON.stringify({ rows: true, actor: null }));
    replicas[1]?.engine.kill();
    await cluster.clock.advance(15_000);
    const last = messages.findLast((message) => message.type === 'cluster');
    expect(last?.type === 'cluster' && last.shards.every(({ owner }) => owner === 'a')).toBe(true);
    expect([...liveWatch.rows.values()].every(({ owner }) => owner === 'a')).toBe(true);
  });

  test('come with what each replica says of itself, as long as it does', async () => {
    const { messages, session } = listen();
    session.take(JSON.stringify({ rows: true, actor: null }));
    unwell.set('b', ['hears nothing from Kubernetes']);
    cluster.hub.connect('foreign').publish(cluster.subjects.peer('troubles'), encodeJson({ replica: 5 }));
    await cluster.clock.advance(5_000);
    const last = () => messages.findLast((message) => message.type === 'cluster')?.troubles;
    expect(last()).toEqual([{ replica: 'b', troubles: ['hears nothing from Kubernetes'] }]);
    unwell.clear();
    await cluster.clock.advance(5_000);
    expect(last()).toEqual([]);
  });

  test('of the kind that is listed carry its facts, and others do not', async () => {
    await cluster.shop(2, 2);
    await cluster.clock.advance(3_000);
    const { messages, session } = listen();
    session.take(JSON.stringify({ rows: true, actor: null, facts: 'service' }));
    await cluster.clock.advance(1_000);
    const told = () =>
      messages
        .flatMap((message) => (message.type === 'rows' ? message.rows : []))
        .filter(({ rev }) => rev > 0);
    const carry = (kind: string) =>
      told()
        .filter(({ id }) => id.startsWith(`${kind}/`))
        .map(({ facts }) => facts !== undefined);
    expect(carry('service').at(-1)).toBe(true);
    expect(carry('pod')).not.toContain(true);
    messages.length = 0;
    // What steps while it is listed comes with them too.
    await cluster.put('pods', 'shop', 'web-7', pod(7));
    await cluster.clock.advance(3_000);
    expect(carry('service').length).toBeGreaterThan(0);
    expect(carry('service')).not.toContain(false);
    session.take(JSON.stringify({ rows: true, actor: null }));
    messages.length = 0;
    await cluster.put('pods', 'shop', 'web-8', pod(8));
    await cluster.clock.advance(3_000);
    expect(carry('service')).not.toContain(true);
  });

  test('come with a beat each second, which says as of when they are', async () => {
    const { messages, session } = listen();
    session.take(JSON.stringify({ rows: true, actor: null }));
    await cluster.clock.advance(10_000);
    const beats = messages.filter((message) => message.type === 'beat');
    expect(beats).toHaveLength(10);
    const last = beats.at(-1);
    expect((last?.now ?? 0) - (last?.asOf ?? 0)).toBeLessThanOrEqual(2_000);
    session.end();
    messages.length = 0;
    await cluster.clock.advance(5_000);
    expect(messages).toEqual([]);
  });

  test('nothing runs any more when the last page is closed', async () => {
    const { session } = listen();
    session.take(JSON.stringify({ rows: true, actor: 'pod/shop/web-0' }));
    await cluster.clock.advance(2_000);
    session.end();
    await cluster.clock.advance(100);
    told.length = 0;
    await cluster.shop(3, 2);
    await cluster.clock.advance(30_000);
    expect(told).toEqual([]);
    expect(liveWatch.rows.size).toBe(0);
  });
});

describe('one actor', () => {
  test('is told as it is, then each of its steps with the context, in order, and no other actor', async () => {
    const { messages, session } = listen();
    session.take(JSON.stringify({ rows: false, actor: 'pod/shop/web-0' }));
    await cluster.shop(3, 2);
    await cluster.clock.advance(3_000);
    const told = messages.flatMap((message) => (message.type === 'step' ? [message] : []));
    const saved = cluster.transitions().filter(({ id }) => id === 'pod/shop/web-0');
    expect(told.map(({ step }) => step.rev)).toEqual(saved.map(({ rev }) => rev));
    expect(told.at(-1)?.actor.state).toBe('gated.ready.proven');
    expect(told.at(-1)?.step.context).toEqual(told.at(-1)?.actor.context);
    expect(messages.some((message) => message.type === 'rows')).toBe(false);
  });

  test('offers only events that its chart takes in this state', async () => {
    await cluster.shop(1, 1);
    await cluster.clock.advance(3_000);
    const control = createControl({ bus: cluster.hub.connect('page'), subjects: cluster.subjects });
    const asking = control.get('pod/shop/web-0');
    await cluster.clock.advance(2_000);
    expect((await asking)?.accepts).toContain('pod.recheck');
    expect((await asking)?.accepts).not.toContain('header.seen');
  });

  test.each(['{', '{"actor":"planet"}', '{"actor":5}'])(
    'a client that says %s is told what is wrong',
    (text) => {
      const { messages, session } = listen();
      session.take(text);
      expect(messages.at(-1)?.type).toBe('problem');
    },
  );
});

describe('history', () => {
  test('holds every step with the context that the actor had then', async () => {
    const { messages, session } = listen();
    session.take(JSON.stringify({ rows: false, actor: 'pod/shop/web-0' }));
    await cluster.shop(2, 3);
    await cluster.clock.advance(3_000);
    const reading = readHistory(
      { bus: cluster.hub.connect('h'), subjects: cluster.subjects, clock: cluster.clock, charts },
      'pod/shop/web-0',
    );
    await cluster.clock.advance(100);
    const { steps, left } = await reading;
    const told = messages.flatMap((message) => (message.type === 'step' ? [message.step] : []));
    expect(left).toBe(0);
    expect(steps.length).toBeGreaterThanOrEqual(3);
    expect(steps.map(({ rev, context }) => [rev, context])).toEqual(
      told.map(({ rev, context }) => [rev, context]),
    );
  });
});

describe('the Stately protocol', () => {
  interface Told {
    readonly type: string;
    readonly sessionId: string;
    readonly _version: string;
    readonly createdAt: string;
    readonly snapshot?: { readonly value: unknown; readonly context: unknown; readonly status: string };
    readonly event?: { readonly type: string };
    readonly definition?: string;
    readonly sourceId?: string;
  }

  function attach(only: ActorId[] = []): Told[] {
    const messages: Told[] = [];
    const control = createControl({ bus: cluster.hub.connect('stately'), subjects: cluster.subjects });
    startStately({ liveWatch, control, clock: cluster.clock, charts }, only, {
      send: (text) => void messages.push(JSON.parse(text)),
      unread: () => 0,
    });
    return messages;
  }

  test('tells actors that are there, with their charts and contexts', async () => {
    await cluster.shop(2, 1);
    await cluster.clock.advance(3_000);
    const messages = attach();
    await cluster.clock.advance(3_000);
    const actors = messages.filter(({ type }) => type === '@xstate.actor');
    expect(actors.map(({ sessionId }) => sessionId).sort()).toEqual(Object.keys(cluster.states()).sort());
    const web = actors.find(({ sessionId }) => sessionId === 'pod/shop/web-0');
    expect(web?.snapshot).toMatchObject({
      status: 'active',
      value: { gated: { ready: 'proven' } },
      context: { name: 'web-0' },
    });
    expect(JSON.parse(web?.definition ?? '').id).toBe('pod');
  });

  test('tells each step as the event and the snapshot, after the actor', async () => {
    const messages = attach();
    await cluster.shop(1, 1);
    await cluster.clock.advance(3_000);
    const ofPod = messages.filter(({ sessionId }) => sessionId === 'pod/shop/web-0');
    expect(ofPod[0]?.type).toBe('@xstate.actor');
    const saved = cluster.transitions().filter(({ id }) => id === 'pod/shop/web-0');
    const events = ofPod.filter(({ type }) => type === '@xstate.event').map(({ event }) => event?.type);
    expect(events).toEqual(saved.map(({ event }) => event.type));
    const snapshots = ofPod.filter(({ type }) => type === '@xstate.snapshot');
    expect(snapshots.map(({ snapshot }) => snapshot?.value)).toEqual(saved.map(({ to }) => stateValue(to)));
    expect(ofPod.some(({ sourceId }) => sourceId === 'service/shop/svc-0')).toBe(true);
    expect(
      ofPod.every(({ _version, createdAt }) => /^\d+\.\d+\.\d+$/.test(_version) && /^\d+$/.test(createdAt)),
    ).toBe(true);
  });

  test('may be restricted to some actors', async () => {
    const messages = attach(['service/shop/svc-1']);
    await cluster.shop(2, 3);
    await cluster.clock.advance(3_000);
    expect(new Set(messages.map(({ sessionId }) => sessionId))).toEqual(new Set(['service/shop/svc-1']));
  });

  test.each([
    ['ready', 'ready'],
    ['gated.ready.proven', { gated: { ready: 'proven' } }],
    ['routes.sampling,endpoints.ignored', { routes: 'sampling', endpoints: 'ignored' }],
    ['a.b.c,a.d.e', { a: { b: 'c', d: 'e' } }],
  ])('a state %s has the value %j', (state, value) => expect(stateValue(state)).toEqual(value));
});
