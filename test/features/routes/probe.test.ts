/** Rounds of calls through Services that answer, lie, hang and break off. */
import type { LookupFunction } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { parseAddress } from '../../../src/base/address.ts';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { limits } from '../../../src/base/limits.ts';
import { probeCall } from '../../../src/features/routes/probe/call.ts';
import { FairLimiter } from '../../../src/features/routes/probe/limiter.ts';
import { createSampler, type Round } from '../../../src/features/routes/probe/probe.ts';
import { until } from '../../until.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { anonymous, type Backend, type FakeService, pod, reset, silent, startService } from './backends.ts';

const started: FakeService[] = [];
afterEach(async () => {
  for (const service of started.splice(0)) await service.close();
});

async function serve(...backends: Backend[]): Promise<FakeService> {
  const service = await startService(...backends);
  started.push(service);
  return service;
}

function createProber(clock: Clock = systemClock, inFlight = 64, lookup?: LookupFunction) {
  const limiter = new FairLimiter(clock, { inFlight, waiting: 1_000, turnMs: 1_000 });
  const parts = { clock, limiter, parseAddress, ...(lookup === undefined ? {} : { lookup }) };
  return { limiter, sampler: createSampler(parts) };
}

const { signal } = new AbortController();
const headers = { IPv4: 'Pod-IPv4', IPv6: 'Pod-IPv6' };

async function sample(url: string, more: Partial<Round> = {}, prober = createProber()) {
  const healthy: string[] = [];
  const round: Round = {
    group: 'shop/web',
    url,
    podIPHeaders: headers,
    timeoutMs: 3_000,
    calls: 9,
    replicas: 3,
    wanted: ['10.0.0.1'],
    ...more,
  };
  const result = await prober.sampler.sample(round, { signal, onHealthy: (ip) => healthy.push(ip) });
  return { ...result, healthy };
}

describe('with a lookup of its own', () => {
  const name = 'web.shop.svc.cluster.local';

  test('a Service is asked by its name at the address that the lookup tells, anew for each call', async () => {
    const { url, requests } = await serve(pod('10.0.0.1'));
    const asked: string[] = [];
    const lookup: LookupFunction = (host, _options, callback) => {
      asked.push(host);
      callback(null, [{ address: '127.0.0.1', family: 4 }]);
    };
    const named = url.replace('127.0.0.1', name);
    const { healthy } = await sample(
      named,
      { calls: 3, wanted: ['10.0.0.9'] },
      createProber(systemClock, 64, lookup),
    );
    expect(healthy).toEqual(['10.0.0.1']);
    expect(requests.map(({ headers }) => headers.host?.split(':')[0])).toEqual([name, name, name]);
    expect(asked).toEqual([name, name, name]);
  });

  test('a name that leads nowhere counts as unreachable, and says so', async () => {
    const lookup: LookupFunction = (host, _options, callback) =>
      callback(Object.assign(new Error(`queryA ENOTFOUND ${host}`), { code: 'ENOTFOUND' }), []);
    const { summary } = await sample(
      `http://${name}:80/`,
      { calls: 3 },
      createProber(systemClock, 64, lookup),
    );
    expect(summary).toMatchObject({ healthy: [], unreachable: 3, lastError: expect.stringContaining(name) });
  });
});

test('each Pod that answers is told once, as it is seen, whoever was hoped for', async () => {
  const { url } = await serve(pod('10.0.0.1'), pod('10.0.0.2'));
  const { healthy, summary, calls } = await sample(url, { wanted: ['10.0.0.9'] });
  expect(healthy.sort()).toEqual(['10.0.0.1', '10.0.0.2']);
  expect(summary).toEqual({
    healthy: expect.arrayContaining(['10.0.0.1', '10.0.0.2']),
    unhealthy: [],
    anonymous: 0,
    unreachable: 0,
    lastError: null,
  });
  expect(calls).toBe(9);
});

test('a round ends as soon as every wanted Pod has answered', async () => {
  const service = await serve(pod('10.0.0.1'), pod('10.0.0.2'));
  const { calls } = await sample(service.url, {
    wanted: ['10.0.0.1', '10.0.0.2'],
    calls: 300,
    replicas: 100,
  });
  expect(calls).toBeLessThanOrEqual(5);
});

test('a round for nobody makes no call', async () => {
  const service = await serve(pod('10.0.0.1'));
  expect(await sample(service.url, { wanted: [] })).toMatchObject({ calls: 0 });
  expect(service.connections).toBe(0);
});

test('each call is a GET of the path over a new connection', async () => {
  const service = await serve(pod('10.0.0.1'));
  await sample(service.url, { wanted: ['10.0.0.9'] });
  expect(service.requests).toHaveLength(9);
  expect(service.connections).toBe(9);
  expect(new Set(service.requests.map(({ method, url }) => `${method} ${url}`))).toEqual(
    new Set(['GET /healthz']),
  );
});

describe('what an answer means', () => {
  test('the address is compared in canonical form', async () => {
    const { url } = await serve(pod('FD00:0:0::1'));
    const { healthy, calls } = await sample(url, { wanted: ['fd00::1'] });
    expect(healthy).toEqual(['fd00::1']);
    expect(calls).toBeLessThanOrEqual(3);
  });

  test.each([500, 503, 404, 301, 204, 206])(
    'a Pod that answers with %i is unhealthy, not proven',
    async (status) => {
      const { url } = await serve(pod('10.0.0.1', status));
      const { healthy, summary } = await sample(url);
      expect(healthy).toEqual([]);
      expect(summary).toMatchObject({ healthy: [], unhealthy: ['10.0.0.1'], anonymous: 0 });
    },
  );

  test.each(['', ' '])('docs/features/routes.md §1.5: the empty header %j is no header', async (value) => {
    const { url } = await serve(anonymous, (_, response) => void response.setHeader('Pod-IPv4', value).end());
    const { summary } = await sample(url);
    expect(summary).toMatchObject({ anonymous: 9, healthy: [], unhealthy: [] });
  });

  test('docs/features/routes.md §3.4: a name is resolved in one family alone', async () => {
    const asked: unknown[] = [];
    const { url } = await serve(pod('10.0.0.1'));
    const lookup = (
      _: string,
      options: { readonly family?: unknown },
      callback: (...answer: unknown[]) => void,
    ) => {
      asked.push(options.family);
      callback(new Error('no such name'), '');
    };
    const port = new URL(url).port;
    for (const family of ['IPv4', 'IPv6'] as const) {
      await probeCall(
        { url: `http://web.test:${port}/`, family, podIPHeaders: { IPv4: 'a', IPv6: 'b' }, timeoutMs: 1_000 },
        { clock: systemClock, parseAddress, lookup: lookup as never },
        new AbortController().signal,
        () => {},
      );
    }
    expect(asked).toEqual([4, 6]);
  });

  test('an answer without the header is anonymous, whatever its status', async () => {
    const { url } = await serve(anonymous, (_, response) => void response.writeHead(404).end());
    const { summary, healthy } = await sample(url);
    expect(summary).toMatchObject({ anonymous: 9, healthy: [], unhealthy: [] });
    expect(healthy).toEqual([]);
  });

  test.each(['nonsense', '10.0.0.01', '10.0.0.1, 10.0.0.2', 'fd00::1', 'x'.repeat(500)])(
    'the header value %j names nobody, and is not anonymous',
    async (value) => {
      const { url } = await serve((_, response) => void response.writeHead(200, { 'Pod-IPv4': value }).end());
      const { summary, healthy } = await sample(url);
      expect(summary).toMatchObject({ anonymous: 0, healthy: [], unhealthy: [value.slice(0, 64)] });
      expect(summary.lastError).toContain('header');
      expect(healthy).toEqual([]);
    },
  );

  test('two headers of one name are no address', async () => {
    const { url } = await serve(
      (_, response) => void response.writeHead(200, ['Pod-IPv4', '10.0.0.1', 'Pod-IPv4', '10.0.0.2']).end(),
    );
    expect((await sample(url)).healthy).toEqual([]);
  });

  test('a Pod is proven only for the family in which it was asked for', async () => {
    const both = { 'Pod-IPv4': '10.0.0.1', 'Pod-IPv6': 'fd00::1' };
    const { url } = await serve((_, response) => void response.writeHead(200, both).end());
    const { healthy, summary } = await sample(url, { wanted: ['10.0.0.9'] });
    expect(healthy).toEqual(['10.0.0.1']);
    expect(summary.healthy).toEqual(['10.0.0.1', 'fd00::1']);
  });

  test('redirects are not followed', async () => {
    const other = await serve(pod('10.0.0.1'));
    const { url } = await serve((_, response) => void response.writeHead(302, { location: other.url }).end());
    expect(await sample(url)).toMatchObject({ healthy: [], summary: { anonymous: 9 } });
    expect(other.connections).toBe(0);
  });

  test('no more than the head and a little of the body is read', async () => {
    let written = 0;
    const service = await serve((_, response) => {
      response.writeHead(200, { 'Pod-IPv4': '10.0.0.1' });
      const more = () => {
        if (response.destroyed) return;
        written += 65_536;
        response.write(Buffer.alloc(65_536), more);
      };
      more();
    });
    expect((await sample(service.url, { wanted: ['10.0.0.9'], calls: 1, replicas: 1 })).healthy).toEqual([
      '10.0.0.1',
    ]);
    await until(() => service.open === 0, { what: 'the end of the connection' });
    expect(written).toBeLessThan(20 * 1024 * 1024);
  });

  test('a head that is too long is no answer', async () => {
    const { url } = await serve(
      (_, response) =>
        void response.writeHead(200, { 'Pod-IPv4': '10.0.0.1', filler: 'x'.repeat(5_000) }).end(),
    );
    expect(await sample(url)).toMatchObject({ healthy: [], summary: { unreachable: 3 } });
  });
});

describe('what cannot be reached', () => {
  test('a refused connection is unreachable, and tells why', async () => {
    const service = await serve(pod('10.0.0.1'));
    await service.close();
    started.length = 0;
    const { summary } = await sample(service.url);
    expect(summary.unreachable).toBe(3);
    expect(summary.lastError).toBe('connection refused');
  });

  test('a name that does not resolve is unreachable', async () => {
    const { summary } = await sample('http://no-such-name.invalid:80/healthz', { calls: 3 });
    expect(summary.unreachable).toBe(3);
    expect(summary.lastError).toMatch(/^the name no-such-name.invalid (does not exist|cannot be looked up)/);
  });

  test('a round in which nothing answers ends after as many calls as there are replicas', async () => {
    const { url } = await serve(reset);
    expect(await sample(url, { calls: 30, replicas: 10 })).toMatchObject({ calls: expect.any(Number) });
    expect((await sample(url, { calls: 30, replicas: 10 })).calls).toBeLessThan(14);
  });

  test('one backend of ten that answers is found though the others do not', async () => {
    const { url } = await serve(
      reset,
      reset,
      reset,
      reset,
      reset,
      reset,
      pod('10.0.0.1'),
      reset,
      reset,
      reset,
    );
    expect((await sample(url, { calls: 30, replicas: 10 })).healthy).toEqual(['10.0.0.1']);
  });

  test('a call without an answer ends after its time, the whole of it counted', async () => {
    const clock = new VirtualClock();
    const service = await serve(
      silent,
      (_, response) => void response.socket?.write('HTTP'),
      (_, response) => {
        response.socket?.write('HTTP/1.1 200 OK\r\nPod-IPv4: 10.0.0.1\r\n');
      },
    );
    const sampling = sample(service.url, { timeoutMs: 3_000 }, createProber(clock));
    await until(() => service.requests.length === 1, { what: 'the first call' });
    await clock.advance(100);
    await until(() => service.requests.length === 3, { what: 'three calls' });
    await clock.advance(2_899);
    expect(service.open).toBe(3);
    await clock.advance(101);
    const { summary } = await sampling;
    expect(summary).toMatchObject({ unreachable: 3, lastError: 'no answer within 3000 ms' });
    await until(() => service.open === 0, { what: 'the end of the connections' });
  });

  test('a Service that was silent is asked by one call at a time, until it answers', async () => {
    const clock = new VirtualClock();
    const prober = createProber(clock);
    const service = await serve(silent);
    const first = sample(service.url, {}, prober);
    await until(() => service.open === 1, { what: 'the first call' });
    await clock.advance(100);
    await until(() => service.open === 3, { what: 'three calls' });
    await clock.advance(3_000);
    await first;
    await until(() => service.open === 0, { what: 'the end of the first round' });
    const second = sample(service.url, {}, prober);
    await until(() => service.open === 1, { what: 'the next call' });
    expect(prober.limiter.inFlight).toBe(1);
    service.backends = [pod('10.0.0.1')];
    await clock.advance(3_100);
    expect((await second).healthy).toEqual(['10.0.0.1']);
  });

  test('a round does not last longer than its calls could, and then counts what is in flight as not reached', async () => {
    const clock = new VirtualClock();
    const service = await serve(silent);
    const sampling = sample(
      service.url,
      { timeoutMs: 600_000, calls: 900, replicas: 300 },
      createProber(clock),
    );
    await until(() => service.open === 1, { what: 'the first call' });
    await clock.advance(100);
    await until(() => service.open === 3, { what: 'three calls' });
    await clock.advance(limits.probeRoundMs);
    const { summary } = await sampling;
    expect(summary).toMatchObject({ unreachable: 3, lastError: 'no answer before the end of the round' });
  });
});

test('a round that is given up rejects and leaves no connection and no slot', async () => {
  const service = await serve(silent);
  const giving = new AbortController();
  const prober = createProber();
  const sampling = prober.sampler.sample(
    {
      group: 'g',
      url: service.url,
      podIPHeaders: headers,
      timeoutMs: 3_000,
      calls: 9,
      replicas: 3,
      wanted: ['10.0.0.1'],
    },
    { signal: giving.signal, onHealthy: () => {} },
  );
  await until(() => service.open === 3, { what: 'three calls' });
  giving.abort(new Error('the shard moved'));
  await expect(sampling).rejects.toThrow('the shard moved');
  expect([prober.limiter.inFlight, prober.limiter.waiting]).toEqual([0, 0]);
  await until(() => service.open === 0, { what: 'the end of the connections' });
});

test('a hundred Services that swallow every call delay nobody else', async () => {
  const clock = new VirtualClock();
  const prober = createProber(clock);
  const hole = await serve(silent);
  const web = await serve(pod('10.0.0.1'));
  const swallowed = () =>
    Array.from({ length: 100 }, (_, group) =>
      sample(hole.url, { group: `hole/${group}`, wanted: ['10.0.0.9'] }, prober),
    );
  const first = Promise.all(swallowed());
  const pass = async () => {
    await clock.advance(500);
    return prober.limiter.inFlight === 0;
  };
  await until(pass, { what: 'the end of the first rounds' });
  await first;
  const second = Promise.all(swallowed());
  await until(() => hole.open === 32, { what: 'calls that hang' });
  // No time passes: whoever answers is heard although every other call hangs.
  expect((await sample(web.url, { group: 'web' }, prober)).healthy).toEqual(['10.0.0.1']);
  await until(pass, { what: 'the end of the second rounds' });
  await second;
});

test('two hundred Services with three Pods each need far less than twice their calls', async () => {
  const prober = createProber();
  const service = await serve(pod('10.0.0.1'), pod('10.0.0.2'), pod('10.0.0.3'));
  const wanted = ['10.0.0.1', '10.0.0.2', '10.0.0.3'];
  const rounds = await Promise.all(
    Array.from({ length: 200 }, (_, index) =>
      sample(service.url, { group: `shop/${index}`, wanted }, prober),
    ),
  );
  expect(rounds.reduce((calls, round) => calls + round.calls, 0)).toBeLessThan(200 * 18);
});
