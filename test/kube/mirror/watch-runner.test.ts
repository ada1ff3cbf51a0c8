/**
 * Chart, runner and client together against a hostile API server: the watch never stops, and ends with the
 * right objects.
 */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type LocalActor, startLocal } from '../../../src/actors/host/local.ts';
import type { KubeObject, KubeWatchEvent } from '../../../src/base/kube-port.ts';
import { silentLog } from '../../../src/base/log.ts';
import { type Random, seededRandom } from '../../../src/base/random.ts';
import { pods } from '../../../src/features/routes/resources.ts';
import { connectKube, type KubeConnection } from '../../../src/kube/api/kube-connection.ts';
import { createWatchRunner } from '../../../src/kube/mirror/watch-runner.ts';
import { type WatchContext, type WatchEffect, watchChart } from '../../../src/machines/watch/watch.ts';
import { until } from '../../until.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { type Fault, HostileApi, lineOf, status, statusObject } from '../api/hostile-api.ts';

let api: HostileApi;
let kube: KubeConnection;
let actor: LocalActor;
let clock: VirtualClock;

beforeEach(async () => {
  api = await new HostileApi().listen();
  clock = new VirtualClock();
});
afterEach(async () => {
  actor.stop();
  kube.close();
  await api.close();
});

interface Seen {
  readonly key: string;
  readonly uid: string;
  readonly version: number;
}

function follow(random: Random = seededRandom(3)) {
  kube = connectKube({ kubeconfig: api.kubeconfig, clock, random });
  const held = new Map<string, Seen>();
  const replaced: number[] = [];
  const codes: string[] = [];
  const read = ({ metadata }: KubeObject): Seen => ({
    key: `${metadata.namespace}/${metadata.name}`,
    uid: metadata.uid ?? '',
    version: Number(metadata.resourceVersion),
  });
  const run = createWatchRunner({
    kube,
    resource: pods,
    sink: {
      read,
      onReplace(objects: readonly Seen[]) {
        replaced.push(objects.length);
        held.clear();
        for (const object of objects) held.set(object.key, object);
      },
      onEvent(type, object: Seen) {
        if (type === 'DELETED') held.delete(object.key);
        else held.set(object.key, object);
      },
    },
    clock,
    log: silentLog,
    onRestart: (code) => codes.push(code),
  });
  actor = startLocal({
    chart: watchChart,
    input: { resource: 'pods', namespace: null },
    runEffect: (effect, { signal, emit }) => run(effect as unknown as WatchEffect, { signal, emit }),
    clock,
    random,
  });
  const context = () => actor.snapshot().context as WatchContext;
  const isRight = () => {
    const wanted = [...api.objects.entries()].map(
      ([key, { metadata }]) => `${key} ${metadata.uid} ${metadata.resourceVersion}`,
    );
    const are = [...held.values()].map(({ key, uid, version }) => `${key} ${uid} ${version}`);
    return wanted.sort().join() === are.sort().join();
  };
  /** Lets virtual time pass, faster than real time, until the store is what the API server has. */
  const catchUp = (what: string) =>
    until(
      async () => {
        await clock.advance(500);
        return isRight() && actor.state() === 'watching';
      },
      { what },
    );
  return { held, replaced, codes, context, isRight, catchUp };
}

const settled = (what: string) =>
  until(() => actor.state() === 'watching' && api.openWatches === 1, { what });

test('objects are listed page by page and then followed', async () => {
  for (let index = 0; index < 1_201; index += 1) api.put('shop', `web-${index}`);
  const { held, replaced, isRight } = follow();
  await settled('the watch');
  expect(replaced).toEqual([1_201]);
  expect(api.requests.filter(({ kind }) => kind === 'list')).toHaveLength(3);
  api.put('shop', 'new');
  api.remove('shop', 'web-7');
  await until(isRight, { what: 'the changes' });
  expect(held.size).toBe(1_201);
});

test('the next page is on its way while a page is read', async () => {
  const effects: string[] = [];
  const requests: string[] = [];
  const page = (items: number, next: string) => ({
    ...{ resourceVersion: '7', continue: next },
    items: Array.from({ length: items }, (_, n) => ({ metadata: { name: `${next}${n}` } }) as KubeObject),
  });
  const answers: Readonly<Record<string, ReturnType<typeof page>>> = {
    '': page(2, 'second'),
    second: page(2, 'third'),
    third: page(1, ''),
  };
  const replaced: number[] = [];
  const run = createWatchRunner({
    kube: {
      async list(_: unknown, { continue: from = '' }: { continue?: string }, signal: AbortSignal) {
        requests.push(from);
        await Promise.resolve();
        signal.throwIfAborted();
        return answers[from];
      },
    } as unknown as KubeConnection,
    resource: pods,
    sink: {
      read(object) {
        effects.push(`read, ${requests.length} requested`);
        return object;
      },
      onReplace: (objects) => replaced.push(objects.length),
      onEvent: () => {},
    },
    clock,
    log: silentLog,
    onRestart: (code) => effects.push(code),
  });
  const { signal } = new AbortController();
  const emit = () => {};
  const ask = (attempt: number, from: string) =>
    run({ type: 'watch.list', attempt, page: from }, { signal, emit });
  expect(await ask(1, '')).toMatchObject({ type: 'watch.page.listed', page: 'second', objects: 2 });
  expect(await ask(2, 'second')).toMatchObject({ type: 'watch.page.listed', page: 'third', objects: 2 });
  // A list that starts over abandons the page that is on its way.
  expect(await ask(3, '')).toMatchObject({ page: 'second' });
  expect(await ask(4, 'second')).toMatchObject({ page: 'third' });
  expect(await ask(5, 'third')).toMatchObject({ page: '', objects: 1 });
  expect(replaced).toEqual([5]);
  expect(requests).toEqual(['', 'second', 'third', '', 'second', 'third']);
  expect(effects.slice(0, 2)).toEqual(Array(2).fill('read, 2 requested'));
  follow();
});

test('an object that the sink cannot take is named in the log, and those after it are taken', async () => {
  const said: unknown[] = [];
  const taken: string[] = [];
  const run = createWatchRunner({
    kube: {
      watch: async (_: unknown, __: unknown, onEvent: (event: KubeWatchEvent) => void) => {
        for (const name of ['bad', 'good']) {
          const metadata = { namespace: 'shop', name, resourceVersion: '8' };
          onEvent({ type: 'MODIFIED', object: { metadata } as KubeObject });
        }
      },
    } as unknown as KubeConnection,
    resource: pods,
    sink: {
      read: ({ metadata }) => metadata.name,
      onReplace: () => {},
      onEvent(_, name) {
        if (name === 'bad') throw new Error('no room');
        taken.push(name);
      },
    },
    clock,
    log: { ...silentLog, warn: (facts, text) => void said.push([facts, text]) },
    onRestart: () => {},
  });
  const effect = { type: 'watch.open', attempt: 1, resourceVersion: '7', timeoutSeconds: 60 } as const;
  await run(effect, { signal: new AbortController().signal, emit: () => {} });
  expect(taken).toEqual(['good']);
  expect(said).toEqual([
    [
      { resource: 'pods', namespace: 'shop', name: 'bad', error: 'no room' },
      expect.stringMatching(/^what was seen could not be taken: .*until it changes or is listed again/),
    ],
  ]);
  follow();
});

test('a stream that breaks off goes on where it stopped: nothing is listed again', async () => {
  const { replaced, catchUp, isRight } = follow();
  await settled('the watch');
  api.put('shop', 'a');
  await until(isRight, { what: 'the first object' });
  api.cut();
  api.put('shop', 'b');
  api.remove('shop', 'a');
  await catchUp('the changes of the meantime');
  expect(replaced).toEqual([0]);
});

test('deletions of a time that cannot be watched any more are found by the difference', async () => {
  for (const name of ['a', 'b', 'c']) api.put('shop', name);
  const { held, catchUp, codes } = follow();
  await settled('the watch');
  const seenMeanwhile: number[] = [];
  api.cut();
  api.remove('shop', 'b');
  api.put('shop', 'd');
  api.compact();
  seenMeanwhile.push(held.size);
  await catchUp('the new list');
  expect(seenMeanwhile).toEqual([3]);
  expect([...held.keys()].sort()).toEqual(['shop/a', 'shop/c', 'shop/d']);
  expect(codes).toContain('KUBE_EXPIRED');
});

test('a list that is broken off halfway is never taken for a whole one', async () => {
  for (let index = 0; index < 1_001; index += 1) api.put('shop', `web-${index}`);
  api.fault('list', (request, response, good) => good.answer(request, response));
  api.fault('list', (_, response) => response.socket?.resetAndDestroy());
  api.fault('list', (_, response) => status(response, 410, 'Expired'));
  const { replaced, catchUp } = follow();
  await catchUp('the list');
  expect(replaced).toEqual([1_001]);
});

test('an object that came back under its name is another one', async () => {
  api.put('shop', 'web-0');
  const { held, isRight } = follow();
  await settled('the watch');
  const before = held.get('shop/web-0')?.uid;
  api.remove('shop', 'web-0');
  api.put('shop', 'web-0');
  await until(isRight, { what: 'the new object' });
  expect(held.get('shop/web-0')?.uid).not.toBe(before);
});

test('a bookmark spares the list when the version that was last seen has been compacted', async () => {
  api.put('shop', 'a');
  const { replaced, context, catchUp } = follow();
  await settled('the watch');
  api.put('other', 'noise');
  api.remove('other', 'noise');
  api.bookmark();
  await until(
    async () => {
      await clock.advance(1_000);
      api.bookmark();
      return context().resourceVersion === '103';
    },
    { what: 'the bookmark' },
  );
  api.compact();
  api.cut();
  await catchUp('the watch from the bookmark');
  expect(replaced).toEqual([1]);
});

test('an object that cannot be read costs itself alone', async () => {
  api.put('shop', 'good');
  api.fault('list', (_, response) => {
    const items = [
      { metadata: { name: 'good', namespace: 'shop', uid: 'u', resourceVersion: '1' } },
      { kind: 'nothing' },
      null,
      7,
    ];
    response.end(JSON.stringify({ metadata: { resourceVersion: '101' }, items }));
  });
  const { held } = follow();
  await settled('the watch');
  expect([...held.keys()]).toEqual(['shop/good']);
});

/** Everything that can be done to a list or a watch. */
const faults: readonly Fault[] = [
  (_, response) => response.socket?.resetAndDestroy(),
  (_, response) => status(response, 410, 'Gone'),
  (_, response) => status(response, 429, 'TooManyRequests', { 'retry-after': '3' }),
  (_, response) => status(response, 500, 'InternalError'),
  (_, response) => status(response, 503, 'ServiceUnavailable'),
  (_, response) => response.writeHead(502).end('<html>'),
  (_, response) => response.writeHead(200).end('{"half":'),
  (_, response) =>
    response.writeHead(200).end(lineOf({ type: 'ERROR', object: statusObject(410, 'Expired') })),
  (_, response) => response.writeHead(200).end('not json\n'),
  (_, response) => response.writeHead(200).end(),
  // Silence: before the head, and after it.
  () => {},
  (_, response) => response.writeHead(200).flushHeaders(),
  // A good watch that is cut in the middle of a line.
  ({ kind }, response) => {
    if (kind !== 'watch') {
      response.socket?.resetAndDestroy();
      return;
    }
    response.writeHead(200);
    response.write('{"type":"MODIFIED","object":{"metadata":{"name":"wör', () =>
      response.socket?.resetAndDestroy(),
    );
  },
];

test.each([1, 2, 3, 4, 5, 6])(
  'whatever the server does, the store is right in the end (seed %i)',
  async (seed) => {
    const random = seededRandom(seed);
    const pick = (below: number) => Math.floor(random.next() * below);
    for (let index = 0; index < 700; index += 1) api.put(`ns-${pick(3)}`, `pod-${index}`);
    const { catchUp, context, replaced } = follow(seededRandom(seed + 100));
    for (let round = 0; round < 60; round += 1) {
      for (let change = pick(5); change > 0; change -= 1) {
        const [namespace, name] = [`ns-${pick(3)}`, `pod-${pick(800)}`];
        if (random.next() < 0.4) api.remove(namespace, name);
        else api.put(namespace, name);
      }
      const fault = faults[pick(faults.length)];
      if (fault !== undefined) api.fault(random.next() < 0.5 ? 'watch' : 'any', fault);
      const act = random.next();
      if (act < 0.3) api.cut();
      else if (act < 0.5) api.endWatches();
      else if (act < 0.6) api.compact();
      else if (act < 0.8) api.bookmark();
      await clock.advance(random.next() * 40_000);
    }
    api.dropFaults();
    await catchUp(`the right objects, seed ${seed}`);
    expect(replaced.length).toBeGreaterThan(0);
    expect(context().restarts).toBeGreaterThan(5);
  },
  30_000,
);
