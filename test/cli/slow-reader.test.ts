/**
 * Nothing that a command prints is lost to a reader that takes its time, and one that has seen enough ends it
 * quietly: every command that prints more than a few lines, as a process with a pipe behind it.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { ActorId } from '../../src/base/ids.ts';
import type { ActorSummary, ActorView, ControlPort, ShardView, Transition } from '../../src/base/views.ts';
import { program } from '../suite/program.ts';
import { type FakeOrrery, startFakeOrrery } from './fake-orrery.ts';

const count = 2_000;
/** Far more than a pipe holds, 64 KiB. */
const long = 'a reason with many words in it '.repeat(6);

const summary = (n: number): ActorSummary => ({
  ...{ id: `pod/shop/web-${String(n).padStart(5, '0')}` as ActorId, state: 'proving.asking', since: 1 },
  ...{ owner: 'r1', shard: 7, rev: 4, nextTimer: null, lastError: null, parked: false },
  reason: { text: long, health: 'waiting', since: 1, next: null },
});
const transition = (rev: number): Transition => ({
  ...{ id: 'pod/shop/web-00001', rev, fence: 3, replica: 'r1', at: systemClock.now() - 60_000 + rev },
  ...{
    event: { type: 'pod.recheck' },
    cause: rev === 1 ? null : 'pod/shop/web-00001/1/0',
    from: 'a',
    to: 'b',
  },
  effects: [],
});
const view: ActorView = {
  ...summary(1),
  ...{ machine: 'pod', machineVersion: 1, meaning: [], fence: 1, context: {}, timers: [], pending: [] },
  ...{ recent: [], accepts: [], facts: [], notes: Array.from({ length: count }, (_, n) => `${n} ${long}`) },
};
const shard = (number: number): ShardView => ({
  ...{ shard: number, owner: 'r1', fence: 30 + number, state: 'active', actors: 2 },
});
const pageSize = 500;
const control: ControlPort = {
  get: async () => view,
  async list({ after }) {
    const first = after === undefined ? 0 : Number(after);
    const actors = Array.from({ length: pageSize }, (_, n) => summary(first + n));
    const next = first + pageSize;
    return { actors, next: next < count ? (String(next) as ActorId) : null, missingShards: [] };
  },
  shards: async () => ({ replicas: [], shards: Array.from({ length: count }, (_, n) => shard(n)) }),
  send: async () => ({
    accepted: true,
    transition: {
      ...transition(1),
      effects: Array.from({ length: count }, (_, n) => ({ type: `${n}.${long}` })),
    },
  }),
};

let fake: FakeOrrery;
let recording = '';

beforeAll(async () => {
  fake = await startFakeOrrery(control);
  recording = join(fake.dir, 'actors.jsonl');
  // From the middle of so many actors: the replay names each of them.
  const lines = Array.from({ length: count }, (_, n) =>
    JSON.stringify({
      ...transition(7),
      id: `pod/shop/${long.replaceAll(' ', '-')}${n}`,
      from: 'proving.asking',
      event: { type: 'pod.recheck', at: 1, random: 0.5 },
    }),
  );
  writeFileSync(recording, `${lines.join('\n')}\n`);
  const revs = Array.from({ length: 800 }, (_, n) => n + 1);
  await Promise.all(revs.map((rev) => fake.happened(transition(rev))));
  for (let n = 0; n < 200; n++) {
    await fake.died('pod/shop/web-00001', { type: 'pod.recheck', n, long }, 'ACTOR_MISSING: there is none');
  }
});
afterAll(() => fake?.stop());

type Child = ChildProcessByStdio<null, Readable, Readable>;

function start(args: readonly string[]): { child: Child; ended: Promise<{ code: unknown; err: string }> } {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: fake.dir,
    env: { PATH: process.env.PATH ?? '', HOME: fake.dir, NATS_URL: fake.url, ORRERY_CLUSTER: fake.cluster },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let err = '';
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  const ended = new Promise<{ code: unknown; err: string }>((resolve) =>
    child.once('close', (code, signal) => resolve({ code: code ?? signal, err })),
  );
  return { child, ended };
}

/** Begins late and takes small bites, with something to do after each. */
async function slowly(args: readonly string[]): Promise<string> {
  const { child, ended } = start(args);
  let out = '';
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    out += chunk;
    await new Promise(setImmediate);
  }
  expect(await ended).toEqual({ code: 0, err: '' });
  return out;
}

const whole = (out: string, field: string): unknown =>
  (JSON.parse(out) as Record<string, unknown[]>)[field]?.length;
const lines = (out: string) => out.trimEnd().split('\n').length;

/** Each command, and how much there is of it when all of it is there. */
const commands: ReadonlyArray<readonly [string, () => readonly string[], (out: string) => unknown, unknown]> =
  [
    ['get', () => ['get', 'pods'], lines, count + 1],
    ['explain', () => ['explain', 'pod/shop/web-00001', '-o', 'json'], (out) => whole(out, 'notes'), count],
    ['events -o json', () => ['events', '--since', '1d', '-o', 'json'], lines, 800],
    ['events ID@REV', () => ['events', 'pod/shop/web-00001@1'], lines, 82],
    [
      'send',
      () => ['send', 'pod/shop/web-00001', 'pod.recheck'],
      (out) => out.includes(`${count - 1}.a reason`),
      true,
    ],
    ['dead', () => ['dead', '-o', 'json'], (out) => whole(out, 'letters'), 200],
    ['shards', () => ['shards'], lines, count + 3],
    ['chart', () => ['chart', 'service', '-o', 'json'], (out) => JSON.parse(out).name, 'service'],
    ['replay', () => ['replay', recording], (out) => out.match(/: 1 transition left out/g)?.length, count],
  ];

test.each(commands)(
  'orrery %s hands everything to a reader that is slow',
  async (_, args, measure, all) => {
    expect(measure(await slowly(args()))).toBe(all);
  },
  60_000,
);

test.each([['get'], ['events', '--since', '1d'], ['dead', '-o', 'json']])(
  'orrery %s … ends quietly for a reader that has seen enough',
  async (...args) => {
    const { child, ended } = start(args);
    // What is written afterwards, or what is still in the pipe, is for nobody.
    child.stdout.once('data', () => child.stdout.destroy());
    expect(await ended).toEqual({ code: 0, err: '' });
  },
  60_000,
);

test.each([['get'], ['chart', 'pod'], ['dead', 'drop', '1']])(
  'orrery %s … ends quietly for a reader that left before the first word',
  async (...args) => {
    const { child, ended } = start(args);
    child.stdout.destroy();
    expect(await ended).toEqual({ code: 0, err: '' });
  },
  60_000,
);

test('what goes wrong is not told to whoever has closed the error stream, too', async () => {
  const { child, ended } = start(['explain', 'nothing']);
  child.stdout.destroy();
  child.stderr.destroy();
  expect((await ended).code).toBe(2);
});
