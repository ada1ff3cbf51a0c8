/**
 * Watches over HTTP against servers that misbehave: nothing is lost unnoticed, and nothing is waited for for
 * ever.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeWatchEvent } from '../../../src/base/kube-port.ts';
import { limits } from '../../../src/base/limits.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { pods } from '../../../src/features/routes/resources.ts';
import { connectKube, type KubeConnection } from '../../../src/kube/api/kube-connection.ts';
import { until } from '../../until.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { HostileApi, lineOf, status, statusObject } from './hostile-api.ts';

let api: HostileApi;
const opened: KubeConnection[] = [];
const { signal } = new AbortController();

beforeEach(async () => {
  api = await new HostileApi().listen();
});
afterEach(async () => {
  for (const kube of opened.splice(0)) kube.close();
  await api.close();
});

function connect(clock = systemClock): KubeConnection {
  const kube = connectKube({ kubeconfig: api.kubeconfig, clock, random: systemRandom });
  opened.push(kube);
  return kube;
}

/** The error of a call that must fail. */
async function errorOf(call: Promise<unknown>): Promise<OrreryError> {
  const thrown = await call.then(
    () => new Error('it did not fail'),
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(OrreryError);
  return thrown as OrreryError;
}

describe('a watch', () => {
  function watch(kube: KubeConnection, options: { timeoutSeconds?: number } = {}) {
    const seen: KubeWatchEvent[] = [];
    const end = kube.watch(
      pods,
      { resourceVersion: '100', timeoutSeconds: options.timeoutSeconds ?? 60 },
      (event) => seen.push(event),
      signal,
    );
    end.catch(() => {});
    const names = () =>
      seen.flatMap((event) => (event.type === 'BOOKMARK' ? [] : [event.object.metadata.name]));
    return { seen, end, names };
  }
  const added = (name: string) =>
    lineOf({ type: 'ADDED', object: { metadata: { name, resourceVersion: '101' } } });

  test('tells that it was accepted before anything happens, and once', async () => {
    let opened = 0;
    const options = { resourceVersion: '100', timeoutSeconds: 60, onOpen: () => void opened++ };
    const events: KubeWatchEvent[] = [];
    const end = connect().watch(pods, options, (event) => void events.push(event), signal);
    end.catch(() => {});
    await until(() => opened === 1, { what: 'the watch to be accepted' });
    expect(events).toEqual([]);
    api.put('shop', 'a');
    await until(() => events.length === 1, { what: 'an event' });
    expect(opened).toBe(1);
    api.endWatches();
  });

  test('asks for bookmarks and hands events over in order', async () => {
    const { seen, names } = watch(connect());
    await until(() => api.openWatches === 1, { what: 'the watch' });
    for (const name of ['a', 'b', 'c']) api.put('shop', name);
    api.bookmark();
    await until(() => seen.length === 4, { what: 'four events' });
    expect(names()).toEqual(['a', 'b', 'c']);
    expect(seen.at(-1)).toEqual({ type: 'BOOKMARK', resourceVersion: '103' });
    expect(Object.fromEntries(api.requests[0]?.url.searchParams ?? [])).toEqual({
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: '100',
      timeoutSeconds: '60',
    });
    api.endWatches();
  });

  test('characters that are split between pieces arrive whole', async () => {
    const name = 'wörld-🪐-ξ';
    api.fault('watch', (_, response) => {
      response.writeHead(200);
      const bytes = Buffer.from(added(name) + added('after'));
      // One byte at a time: every character and every line is cut everywhere.
      const next = (index: number) => {
        if (index === bytes.length) response.end();
        else response.write(bytes.subarray(index, index + 1), () => next(index + 1));
      };
      next(0);
    });
    const { end, names } = watch(connect());
    await end;
    expect(names()).toEqual([name, 'after']);
  });

  test.each([
    ['a reset in the middle of a line', 'KUBE_UNREACHABLE', (line: string) => line.slice(0, 20), true],
    ['half a line at a good end', 'KUBE_UNREACHABLE', (line: string) => line.slice(0, 20), false],
    ['a line that is no JSON', 'MESSAGE_UNREADABLE', () => 'nonsense\n', false],
    [
      'an event of an unknown type',
      'MESSAGE_UNREADABLE',
      () => '{"type":"NEW","object":{"metadata":{}}}\n',
      false,
    ],
    ['an event without an object', 'MESSAGE_UNREADABLE', () => '{"type":"ADDED"}\n', false],
    ['null', 'MESSAGE_UNREADABLE', () => 'null\n', false],
    [
      'an ERROR event 410',
      'KUBE_EXPIRED',
      () => lineOf({ type: 'ERROR', object: statusObject(410, 'Expired') }),
      false,
    ],
    [
      'an ERROR event 500',
      'KUBE_SERVER',
      () => lineOf({ type: 'ERROR', object: statusObject(500, 'InternalError') }),
      false,
    ],
    ['an ERROR event without a status', 'KUBE_SERVER', () => lineOf({ type: 'ERROR', object: null }), false],
  ])('%s is %s, and what came before was handed over', async (_, code, broken, isReset) => {
    api.fault('watch', (_request, response) => {
      response.writeHead(200);
      response.write(`${added('before')}${broken(added('lost'))}`, () => {
        if (isReset) response.socket?.resetAndDestroy();
        else response.end();
      });
    });
    const { end, names } = watch(connect());
    expect((await errorOf(end)).code).toBe(code);
    expect(names()).toEqual(['before']);
  });

  test('a line without an end does not fill the memory', async () => {
    api.fault('watch', (_, response) => {
      response.writeHead(200);
      const piece = Buffer.alloc(1024 * 1024, 'x');
      const more = () => response.destroyed || response.write(piece, more);
      more();
    });
    const { end } = watch(connect());
    expect((await errorOf(end)).code).toBe('MESSAGE_TOO_LARGE');
  });

  test('a long line within the bound is read', async () => {
    const filler = 'y'.repeat(3 * 1024 * 1024);
    api.fault('watch', (_, response) => {
      response.writeHead(200);
      response.end(
        lineOf({ type: 'ADDED', object: { metadata: { name: 'large', resourceVersion: '1' }, filler } }),
      );
    });
    const { end, names } = watch(connect());
    await end;
    expect(names()).toEqual(['large']);
  });

  test('410 as an HTTP status is KUBE_EXPIRED', async () => {
    api.fault('watch', (_, response) => status(response, 410, 'Gone'));
    expect((await errorOf(watch(connect()).end)).code).toBe('KUBE_EXPIRED');
  });

  test('a connection that says nothing for longer than it was asked to last is dead', async () => {
    const clock = new VirtualClock();
    const { end, seen } = watch(connect(clock), { timeoutSeconds: 60 });
    await until(() => api.openWatches === 1, { what: 'the watch' });
    api.put('shop', 'a');
    await until(() => seen.length === 1, { what: 'the event' });
    await clock.advance(60_000 + limits.kubeSilenceSlackMs);
    const error = await errorOf(end);
    expect(error.code).toBe('KUBE_UNREACHABLE');
    expect(error.message).toContain('silent');
    await until(() => api.openWatches === 0, { what: 'the end of the connection' });
  });

  test('a connection that speaks now and then is not', async () => {
    const clock = new VirtualClock();
    const { end, seen } = watch(connect(clock), { timeoutSeconds: 60 });
    await until(() => api.openWatches === 1, { what: 'the watch' });
    for (let round = 1; round <= 5; round += 1) {
      await clock.advance(60_000);
      api.bookmark();
      await until(() => seen.length === round, { what: 'the bookmark' });
    }
    api.endWatches();
    await end;
  });

  test('a server that takes the request and never answers is given up', async () => {
    const clock = new VirtualClock();
    api.fault('watch', () => {});
    const { end } = watch(connect(clock));
    await until(() => api.requests.length === 1, { what: 'the request' });
    await clock.advance(limits.kubeRequestMs);
    expect((await errorOf(end)).code).toBe('KUBE_UNREACHABLE');
  });

  test('a listener that throws ends this watch alone', async () => {
    const kube = connect();
    const end = kube.watch(
      pods,
      { resourceVersion: '100', timeoutSeconds: 60 },
      () => {
        throw new OrreryError('INVARIANT', 'a listener fails');
      },
      signal,
    );
    await until(() => api.openWatches === 1, { what: 'the watch' });
    api.put('shop', 'a');
    expect((await errorOf(end)).code).toBe('INVARIANT');
    expect((await kube.list(pods, {}, signal)).items).toHaveLength(1);
  });
});
