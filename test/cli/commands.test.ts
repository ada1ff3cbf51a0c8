/** The command line, against a real NATS server and a made-up replica. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { systemClock } from '../../src/base/clock.ts';
import type {
  ActorSummary,
  ActorView,
  ControlPort,
  Health,
  Reason,
  ShardView,
  Transition,
} from '../../src/base/views.ts';
import { until } from '../until.ts';
import { inThisProcess, orrery, start } from './command.ts';
import { type FakeOrrery, plainRow, startFakeOrrery } from './fake-orrery.ts';

const now = systemClock.now();
const summary = (name: string, more: Partial<ActorSummary> = {}): ActorSummary => ({
  ...plainRow,
  id: `pod/shop/${name}`,
  state: 'ready.proven',
  since: now - 3_600_000 * 5,
  reason: { text: 'every Service reaches it', health: 'ok', since: now - 3_600_000 * 5, next: null },
  ...more,
});
function because(health: Health, text: string): Reason {
  return { text, health, since: now - 42_000, next: { text: 'asked again', at: now + 600_000 } };
}
const actors = [
  summary('web-0'),
  summary('web-4', {
    state: 'lost.withdrawing',
    reason: because('wrong', 'shop/web does not reach it any more'),
  }),
  summary('web-1', {
    state: 'proving.asking',
    since: now - 42_000,
    reason: because('waiting', 'held back by shop/web'),
  }),
  summary('web-2', { state: 'marking.backingOff', reason: because('wrong', 'no answer\nto the patch') }),
  summary('web-3', {
    parked: true,
    lastError: 'x is not a function',
    reason: because('wrong', 'parked: its chart failed'),
  }),
];
const transition: Transition = {
  id: 'pod/shop/web-1',
  rev: 4,
  fence: 31,
  replica: 'r1',
  at: now - 5_000,
  event: { type: 'pod.observed' },
  cause: 'service/shop/web/9/0',
  from: 'deciding',
  to: 'proving.asking',
  effects: [{ type: 'message.send' }, { type: 'message.send' }],
};
const idle: Transition = {
  ...transition,
  event: { type: 'route.wanted' },
  cause: null,
  from: 'a',
  to: 'a',
  effects: [],
};
const web1: ActorView = {
  ...summary('web-1', {
    state: 'proving.asking',
    since: now - 42_000,
    reason: because('waiting', 'held back by shop/web'),
  }),
  machine: 'pod',
  machineVersion: 1,
  meaning: [{ state: 'proving', description: 'Waits until each Service has been seen to reach this Pod.' }],
  fence: 31,
  context: {},
  timers: [{ event: 'xstate.after.askAgain.pod.proving.asking', at: now + 600_000 }],
  pending: [{ key: 'pod/shop/web-1/4/0', type: 'message.send' }],
  recent: [transition, ...[5, 6, 7].map((rev) => ({ ...idle, rev }))],
  accepts: ['route.proven', 'pod.recheck'],
  facts: [{ label: 'Missing', value: 2, unit: 'Services' }],
};
const shard = (number: number, more: Partial<ShardView> = {}): ShardView => ({
  shard: number,
  owner: 'r1',
  fence: 30 + number,
  state: 'active',
  actors: 2,
  ...more,
});
const asked: unknown[] = [];
const control: ControlPort = {
  get: async (id) => (id === web1.id ? web1 : null),
  list: async (request) => {
    asked.push(request);
    if (request.namespace === 'empty') return { actors: [], next: null, missingShards: [] };
    const rest = request.after === undefined ? actors.slice(0, 2) : actors.slice(2);
    return { actors: rest, next: request.after === undefined ? 'pod/shop/web-1' : null, missingShards: [9] };
  },
  shards: async () => ({
    replicas: [
      {
        replica: 'r1',
        incarnation: 'i',
        release: '0.1.0',
        shards: [1],
        actors: 4,
        stepsPerSecond: 2.5,
        lastSeen: now,
      },
    ],
    shards: [shard(1), shard(2, { owner: null, state: 'unowned', fence: 0 })],
  }),
  send: async (id, event) => {
    asked.push({ id, event });
    if (event.type === 'pod.recheck') return { accepted: true, transition: { ...transition, event } };
    return {
      accepted: false,
      code: 'MESSAGE_UNKNOWN_EVENT',
      reason: `the chart does not know ${event.type}`,
    };
  },
};

let fake: FakeOrrery;
beforeAll(async () => {
  fake = await startFakeOrrery(control);
  await fake.happened({ ...transition, rev: 3, to: 'deciding', from: null });
  await fake.happened(transition);
});
afterAll(() => fake?.stop());

/** In this process: a start of the program takes longer than what it does here. */
const run = (...args: string[]) => inThisProcess(args, fake.place.env, fake.place.cwd);

describe('orrery get', () => {
  test('lists every page of actors, what is wrong first, without lines', async () => {
    const { code, out, err } = await orrery(['get'], fake.place);
    expect(code).toBe(0);
    const lines = out.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^ID +HEALTH +STATE +SINCE +REASON$/);
    expect(lines.slice(1).map((line) => line.split(/\s+/)[0])).toEqual([
      'pod/shop/web-3',
      'pod/shop/web-2',
      'pod/shop/web-4',
      'pod/shop/web-1',
      'pod/shop/web-0',
    ]);
    expect(lines[1]).toContain('parked: ready.proven');
    expect(lines[2]).toContain('no answer to the patch');
    expect(lines[5]).toMatch(/ ok +ready\.proven +5h +every Service reaches it$/);
    // Neither colours, for this is no terminal, nor borders.
    expect(stripVTControlCharacters(out)).toBe(out);
    expect(out).not.toContain('│');
    expect(err).toBe('shards 9 did not answer: their actors are missing above\n');
  });

  test('hands kind, namespace and state on', async () => {
    await run('get', 'pod', '-n', 'shop', '--state', 'proving');
    expect(asked).toContainEqual({ kind: 'pod', namespace: 'shop', state: 'proving', facts: true });
  });

  test('-w prints what changes after that, and ends with the person', async () => {
    const watching = start(['get', 'pod', '-w'], fake.place);
    await until(() => watching.out().includes('web-0'), { what: 'the list' });
    const before = watching.out().length;
    actors[0] = summary('web-0', { rev: 5, reason: because('wrong', 'it went away') });
    await until(() => watching.out().slice(before).includes('it went away'), { what: 'the change' });
    watching.child.kill('SIGINT');
    expect(await watching.ended).toMatchObject({ code: 0 });
    expect(watching.out().slice(before).trimEnd().split('\n')).toHaveLength(1);
    actors[0] = summary('web-0');
  });

  test('-o yaml prints the same as JSON would', async () => {
    const [json, yaml] = await Promise.all([
      run('get', 'pod', '-o', 'json'),
      run('get', 'pod', '-o', 'yaml'),
    ]);
    expect(parse(yaml.out)).toEqual(JSON.parse(json.out));
  });

  test('-o json prints one object with all pages', async () => {
    const { out } = await run('get', '-o', 'json');
    const answer = JSON.parse(out);
    expect(answer.actors).toHaveLength(5);
    expect(answer).toMatchObject({ next: null, missingShards: [9] });
  });

  test('nothing found is said on the error stream and is no failure', async () => {
    expect(await run('get', 'pod', '-n', 'empty')).toEqual({
      code: 0,
      out: '',
      err: 'no actors found of kind pod in namespace empty\n',
    });
  });
});

describe('orrery explain', () => {
  test('says state and meaning, why, what it waits for, what is pending, and who owns it', async () => {
    const { code, out } = await run('explain', 'pod/shop/web-1');
    expect(code).toBe(0);
    expect(out).toMatch(/^pod\/shop\/web-1 waiting: held back by shop\/web\n {2}waiting for \d+s, since 20/);
    expect(out).toMatch(/ {2}next: asked again, in \d+m(\d+s)? \(20/);
    expect(out).toContain('Missing  2 Services');
    expect(out).toContain('State\n  proving.asking\n');
    expect(out).toContain('proving: Waits until each Service has been seen to reach this Pod.');
    expect(out).toMatch(
      /\d+s ago {2}@\d+ {2}pod\.observed: deciding → proving\.asking; asked for message\.send ×2 \(because of service\/shop\/web@9\)\n/,
    );
    expect(out).toContain('route.wanted: stays (3 times)');
    expect(out).toMatch(/ask again in \d+m\d*s?, at 20/);
    expect(out).toContain('any of the events route.proven, pod.recheck');
    expect(out).toContain('message.send  (pod/shop/web-1/4/0)');
    expect(out).toContain('r1 owns shard 7 with fence 31');
  });

  test('an actor that does not exist is one line and exit code 1', async () => {
    expect(await run('explain', 'pod/shop/nobody')).toEqual({
      code: 1,
      out: '',
      err: 'error: there is no actor pod/shop/nobody: "orrery get pod -n shop" lists those there are\n',
    });
  });
});

describe('orrery send', () => {
  test('prints the transition that the event caused', async () => {
    const { code, out } = await run('send', 'pod/shop/web-1', 'pod.recheck', '{"deep":true}');
    expect(code).toBe(0);
    expect(out).toBe(
      'pod/shop/web-1: pod.recheck: deciding → proving.asking (revision 4, asked for message.send ×2)\n',
    );
    expect(asked).toContainEqual({ id: 'pod/shop/web-1', event: { type: 'pod.recheck', deep: true } });
  });

  test('a refusal is one line with its code, and exit code 1', async () => {
    const { code, out, err } = await run('send', 'pod/shop/web-1', 'pod.fly');
    expect([code, out]).toEqual([1, '']);
    expect(err).toBe('error: refused: the chart does not know pod.fly (MESSAGE_UNKNOWN_EVENT)\n');
    const json = await run('send', 'pod/shop/web-1', 'pod.fly', '-o', 'json');
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toMatchObject({ accepted: false });
  });
});

describe('orrery dead', () => {
  test('lists letters, shows one whole, sends again, drops; a letter that is refused stays', async () => {
    const error = 'ACTOR_MISSING: there is no actor pod/shop/web-9';
    const [first, second] = [
      await fake.died('pod/shop/web-1', { type: 'pod.recheck', password: 'hunter2' }, error),
      await fake.died('pod/shop/web-9', { type: 'pod.recheck' }, error),
    ];
    const list = await run('dead');
    expect(list.out).toMatch(/^LETTER +AGE +REASON +TO +EVENT +WHY\n/);
    expect(list.out).toMatch(
      new RegExp(`${first} +\\S+ +ACTOR_MISSING +pod/shop/web-1 +pod\\.recheck +there is no actor`),
    );
    const shown = await run('dead', 'show', String(first));
    expect(shown.out).toContain('"type": "pod.recheck"');
    expect(shown.out).toContain('[hidden]');
    expect(shown.out).not.toContain('hunter2');
    const again = await run('dead', 'resend', String(first), '999');
    expect([again.code, again.out]).toEqual([1, expect.stringContaining(`${first}: `)]);
    expect(again.err).toContain('999: refused: there is no dead letter 999 (LETTER_MISSING)');
    expect((await run('dead', 'drop', String(second))).out).toBe(`${second}: dropped\n`);
    expect(await run('dead', 'list', '-o', 'json')).toMatchObject({
      code: 0,
      out: '{\n  "letters": []\n}\n',
    });
    expect(await run('dead', 'drop', 'all')).toMatchObject({
      code: 2,
      err: expect.stringContaining('"all"'),
    });
  });
});

test('orrery shards lists replicas, then shards, those without an owner first', async () => {
  const { code, out, err } = await run('shards');
  expect(code).toBe(0);
  expect(out).toMatch(
    /^REPLICA +RELEASE +SHARDS +ACTORS +STEPS\/S +SEEN\nr1 +0\.1\.0 +1 +4 +2\.5 +\d+s ago\n/,
  );
  expect(out).toMatch(/SHARD +STATE +OWNER +FENCE +ACTORS\n2 +unowned +- +0 +2\n1 +active +r1 +31 +2\n$/);
  expect(err).toBe('1 of 2 shards are not active\n');
});

describe('orrery events', () => {
  test('prints the stored transitions in order and ends', async () => {
    const { code, out } = await run('events', '--since', '1h');
    expect(code).toBe(0);
    expect(out.trimEnd().split('\n')).toEqual([
      expect.stringMatching(
        /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} [+-]\d\d:\d\d {2}pod\/shop\/web-1 {2}pod.observed: began in deciding/,
      ),
      expect.stringContaining(
        'pod.observed: deciding → proving.asking  asked for message.send ×2  rev 4 on r1',
      ),
    ]);
  });

  test('one actor alone, as JSON lines', async () => {
    const { out } = await run('events', 'pod/shop/web-1', '-o', 'json');
    expect(
      out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).rev),
    ).toEqual([3, 4]);
    const other = await run('events', 'pod/shop/web-0');
    expect(other).toEqual({
      ...{ code: 0, out: '' },
      err: 'no transitions found in the last hour (--since 1d: all that is kept)\n',
    });
  });

  test('--from, --to, --kind and --reason choose; --utc prints UTC', async () => {
    const iso = (at: number) => new Date(at).toISOString();
    const around = ['--from', iso(now - 60_000), '--to', iso(now)];
    const { out } = await run('events', ...around, '--kind', 'pods', '--reason', 'PROVING', '--utc');
    expect(out).toMatch(
      /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC {2}pod\/shop\/web-1 .*\(because of service\/shop\/web@9\)\n$/,
    );
    const before = await run('events', '--from', iso(now - 120_000), '--to', iso(now - 60_000));
    expect(before).toEqual({ code: 0, out: '', err: 'no transitions found\n' });
    expect(await run('events', '--kind', 'pdo')).toMatchObject({
      code: 2,
      err: expect.stringContaining('KIND: "pdo"'),
    });
    expect(await run('events', '--from', 'teatime')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--from: "teatime"'),
    });
  });

  test('--follow prints what happens from now on, until Ctrl-C ends it with 0', async () => {
    const running = start(['events', 'pod/shop/web-9', '--follow', '--since', '1h'], fake.place);
    await fake.happened({ ...transition, id: 'pod/shop/web-9', rev: 1 });
    await until(() => running.out().includes('rev 1'), { what: 'the first transition' });
    await fake.happened({ ...transition, id: 'pod/shop/web-9', rev: 2 });
    await until(() => running.out().includes('rev 2'), { what: 'a live transition' });
    running.child.kill('SIGINT');
    expect((await running.ended).code).toBe(0);
  });
});

test('a kind goes by each of its names; one that there is none of is told with those that there are', async () => {
  expect((await run('explain', 'po/shop/web-1')).out).toMatch(/^pod\/shop\/web-1 waiting/);
  expect((await run('events', 'pods/shop/web-1', '-o', 'json')).out).toContain('"pod/shop/web-1"');
  expect((await run('send', 'po/shop/web-1', 'pod.recheck')).code).toBe(0);
  for (const command of ['explain', 'events']) {
    expect(await run(command, 'pdo/shop/web-1')).toMatchObject({
      ...{ code: 2, out: '' },
      err: expect.stringContaining('KIND: "pdo" is not allowed; allowed: pod (po)'),
    });
  }
});

describe('which Orrery is meant', () => {
  test('the file that orrery dev leaves is used where neither flag nor environment says', async () => {
    const cwd = join(fake.dir, 'with-dev');
    await mkdir(join(cwd, '.orrery'), { recursive: true });
    await writeFile(
      join(cwd, '.orrery', 'dev.json'),
      JSON.stringify({ nats: fake.url, cluster: fake.cluster, http: [] }),
    );
    expect((await orrery(['explain', 'pod/shop/web-1'], { cwd })).code).toBe(0);
    await writeFile(join(cwd, '.orrery', 'dev.json'), '{"nats":"nats://127.0.0.1:9","cluster":"fake"}');
    expect((await orrery(['get'], { cwd })).err).toMatch(
      /^error: no NATS at nats:\/\/127\.0\.0\.1:9 \(from \.orrery\/dev\.json: is "orrery dev" running\?\): /,
    );
    expect((await orrery(['get', '--nats', fake.url, '--cluster', fake.cluster], { cwd })).code).toBe(0);
  });

  test('whoever follows a cluster that nobody serves is told so, and does not wait', async () => {
    const given = ['events', '--follow', '--nats', fake.url, '--cluster', 'elsewhere'];
    const { code, err } = await orrery(given, { cwd: fake.dir });
    expect(code).toBe(1);
    expect(err).toMatch(/^error: no replica of cluster "elsewhere" answers at nats:[^\n]*\n$/);
  });

  test('a cluster that nobody answers for is one line and exit code 1', async () => {
    const { code, err } = await run('get', '--cluster', 'elsewhere');
    expect(code).toBe(1);
    expect(err).toBe(
      `error: no replica of cluster "elsewhere" answers at ${fake.url}: does one run, and is --cluster right?\n`,
    );
  });
});
