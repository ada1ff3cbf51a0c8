/** The picture of the cluster behind the live feeds, where answers and news cross. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ActorId } from '../../src/base/ids.ts';
import { limits } from '../../src/base/limits.ts';
import type { ActorView, ControlPort, LiveRow } from '../../src/base/views.ts';
import { encodeJson } from '../../src/bus/codec.ts';
import { memoryHub } from '../../src/bus/memory/hub.ts';
import { subjects as subjectsOf } from '../../src/bus/subjects.ts';
import { OwnSession } from '../../src/inspector/live/live.ts';
import type { ClusterNow } from '../../src/inspector/live/live-messages.ts';
import { LiveWatch } from '../../src/inspector/live/live-watch.ts';
import { startStately } from '../../src/inspector/live/stately.ts';
import { VirtualClock } from '../virtual-clock.ts';

const web: ActorId = 'pod/shop/web-0';
const row = (rev: number, more: Partial<LiveRow> = {}): LiveRow =>
  ({
    id: web,
    rev,
    state: 'proving',
    shard: 1,
    owner: 'a',
    reason: { text: '', health: 'ok' },
    ...more,
  }) as never;

let clock: VirtualClock;
let liveWatch: LiveWatch;
/** Lists that wait for an answer. */
let lists: Array<(rows: readonly LiveRow[]) => void>;
let views: Array<(view: Partial<ActorView> | null) => void>;
let control: ControlPort;
let publish: (what: string, value: object) => void;
let cluster: ClusterNow | null;

beforeEach(() => {
  clock = new VirtualClock();
  const hub = memoryHub({ clock, cluster: 'test' });
  const subjects = subjectsOf('test');
  const peer = hub.connect('peer');
  publish = (what, value) => peer.publish(subjects.peer(...(what.split('.') as ['step'])), encodeJson(value));
  [lists, views, cluster] = [[], [], null];
  control = {
    list: () =>
      new Promise((resolve) => {
        lists.push((actors) => resolve({ actors, next: null, missingShards: [] } as never));
      }),
    get: () => new Promise((resolve) => void views.push(resolve as never)),
    shards: async () => ({ replicas: [{ replica: 'b' }], shards: [] }) as never,
  } as never;
  liveWatch = new LiveWatch({ bus: hub.connect('w'), subjects, clock, control, watcher: 'w' });
});
afterEach(() => liveWatch.stop());

const watchRows = () =>
  liveWatch.watchRows({
    changed() {},
    cluster: (now) => {
      cluster = now;
    },
  });

async function answer(...rows: LiveRow[]): Promise<void> {
  lists.shift()?.(rows);
  await clock.advance(1);
}

test('an actor that ended while it was listed is not shown again', async () => {
  watchRows();
  publish('rows', { rows: [row(5)] });
  publish('rows', { rows: [row(6, { gone: true })] });
  await clock.advance(1);
  await answer(row(4));
  expect([...liveWatch.rows.keys()]).toEqual([]);
});

test('an actor that came back while the others were listed stays', async () => {
  watchRows();
  await answer(row(4));
  await clock.advance(limits.inspectReadAgainMs);
  publish('rows', { rows: [row(5, { gone: true })] });
  publish('rows', { rows: [row(6)] });
  await clock.advance(1);
  await answer();
  expect(liveWatch.rows.get(web)?.rev).toBe(6);
  await clock.advance(limits.inspectReadAgainMs);
  await answer();
  expect(liveWatch.rows.has(web)).toBe(false);
});

test('what a replica says of itself is heard, however many had other names before', async () => {
  watchRows();
  for (let n = 0; n < limits.inspectWatchers; n++)
    publish('troubles', { replica: `former-${n}`, troubles: ['no NATS'] });
  await clock.advance(limits.inspectWatchMs + 1_000);
  publish('troubles', { replica: 'b', troubles: ['no NATS'] });
  await clock.advance(2_000);
  expect(cluster?.troubles).toEqual([{ replica: 'b', troubles: ['no NATS'] }]);
});

test('a page that left an actor and came back is told of it by one reading', async () => {
  const sent: string[] = [];
  const line = { send: (text: string) => void sent.push(text), unread: () => 0 };
  const session = new OwnSession({ liveWatch, control, clock, replica: 'a', release: '1' }, line);
  const look = (actor: ActorId | null) => session.take(JSON.stringify({ rows: false, actor }));
  look(web);
  look(null);
  look(web);
  for (let n = 0; n < 3; n++) {
    for (const reply of views.splice(0)) reply(null);
    await clock.advance(5_000);
  }
  expect(views).toHaveLength(1);
  session.end();
});

test('the Stately protocol tells an actor before its first step, and nothing older after that', async () => {
  const sent: Array<{ type: string; snapshot?: { value: unknown } }> = [];
  let unreadBytes = 0;
  const line = { send: (text: string) => void sent.push(JSON.parse(text)), unread: () => unreadBytes };
  const feed = startStately({ liveWatch, control, clock, charts: [] }, [web], line);
  const step = async (rev: number, from: string | null, to: string) => {
    const event = { type: 'x' };
    const told = { id: web, rev, event, cause: null, from, to, at: 0, context: {}, effects: [] };
    publish('step.pod.shop.web-0', { step: told, actor: { id: web, machine: 'pod' } });
    await clock.advance(1);
  };
  const told = () => sent.splice(0).map(({ type, snapshot }) => [type, snapshot?.value]);
  // It is not there yet.
  views.shift()?.(null);
  unreadBytes = limits.inspectUnreadBytes + 1;
  await step(1, null, 'a');
  unreadBytes = 0;
  await step(2, 'a', 'b');
  expect(told()).toEqual([
    ['@xstate.actor', 'a'],
    ['@xstate.event', undefined],
    ['@xstate.snapshot', 'b'],
  ]);
  feed.end();
  startStately({ liveWatch, control, clock, charts: [] }, [web], line);
  await step(3, 'b', 'c');
  told();
  views.shift()?.({ id: web, state: 'b' });
  await clock.advance(1);
  expect(told()).toEqual([]);
});
