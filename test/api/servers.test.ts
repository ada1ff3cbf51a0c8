/**
 * Features of a user's own on real servers, in two replicas. One is rolled to its next version, replica by
 * replica, while its actors are at work: nothing is lost, and nothing is done twice. Another one's code never
 * yields: its replica is taken over from and ends itself, the next one interrupts the code, and actors of
 * other features go on.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { KubeObject, KubeResource } from '../../src/base/kube-port.ts';
import type { ShardsView } from '../../src/base/views.ts';
import { decode, encodeJson } from '../../src/bus/codec.ts';
import { errorInAnswer } from '../../src/bus/rpc.ts';
import { subjects as subjectsOf } from '../../src/bus/subjects.ts';
import { until } from '../until.ts';
import { type OwnStage, startOwnStage } from './own-stage.ts';
import { first, second } from './parcels.ts';
import { calm, rogue } from './rogue.ts';

const configMaps: KubeResource = {
  ...{ group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true },
};
const { signal } = new AbortController();
const patience = { timeoutMs: 60_000 };

interface Told {
  readonly key: string;
  readonly actor: string;
  readonly stage: string;
}

/** What parcels have told it; an answer takes a while, so that some are under way whenever a replica ends. */
function startCounter(): { server: Server; told: Told[] } {
  const told: Told[] = [];
  const server = createServer(async (request, response) => {
    const pieces: Uint8Array[] = [];
    for await (const piece of request) pieces.push(piece);
    told.push(JSON.parse(Buffer.concat(pieces).toString()));
    systemClock.after(300, () => response.end('{}'));
  });
  return { server, told };
}

const { server, told } = startCounter();
let stage: OwnStage;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const env = { COUNTER: `http://127.0.0.1:${port}/` };
  stage = await startOwnStage({
    replicas: 2,
    features: { 'feature.ts': first, 'rogue.ts': rogue, 'calm.ts': calm },
    env,
  });
});
afterAll(async () => {
  await stage.stop();
  server.close();
});

const names: string[] = [];
let stamp = 0;

/** More parcels; every one there is gets a stamp. */
async function work(): Promise<void> {
  const news = Array.from({ length: 8 }, (_, n) => `p${names.length + n}`);
  names.push(...news);
  const create = (name: string) => {
    const metadata = { name, namespace: 'default', labels: { 'example.com/parcel': 'yes' } };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata };
    return stage.kube.create(configMaps, object as unknown as KubeObject, signal);
  };
  await Promise.all(news.map(create));
  const isThere = async () => (await stage.actors('parcel')).length === names.length;
  await until(isThere, { what: 'each has an actor', ...patience });
  const n = stamp++;
  await Promise.all(names.map((name) => stage.send(`parcel/default/${name}`, { type: 'parcel.stamp', n })));
}

const owners = async (index: number) => {
  const { parts = [] } = await stage.ask<ShardsView>(index, '/api/v1/shards');
  return new Set(parts.filter(({ feature }) => feature === 'parcels').map(({ owner }) => owner));
};

test('versions change replica by replica: nothing is lost, nothing is done twice', {
  timeout: 240_000,
}, async () => {
  await Promise.all([stage.untilReady(0), stage.untilReady(1)]);
  await work();
  stage.write('feature.ts', second);
  await stage.restart(0);
  await work();

  const left = async () => [...(await owners(0))].join() === 'orrery-0';
  await until(left, { what: 'the new version owns its kinds alone', ...patience });
  expect(await stage.readiness(1)).toMatchObject({
    ready: true,
    notes: [
      'the feature parcels is loaded here in version 1.0.0, elsewhere in 2.0.0: its actors are left to orrery-0',
    ],
  });
  expect(await stage.readiness(0)).not.toHaveProperty('notes');
  await stage.restart(1);
  await work();

  const isSent = async () => (await stage.actors('parcel')).filter(({ state }) => state === 'sent').length;
  await until(async () => (await isSent()) === names.length, { what: 'all are sent', ...patience });
  for (const name of names) {
    const id = `parcel/default/${name}`;
    const mine = told.filter(({ actor }) => actor === id);
    // One that was cut short runs again under its key; another key would be another parcel.
    const keys = new Set(mine.map(({ key, stage: what }) => `${what} ${key}`));
    expect([...keys].map((one) => one.split(' ')[0])).toEqual(['packed', 'sent']);
  }
  const stampsOf = async (name: string) => {
    const actor = await stage.actor(`parcel/default/${name}`);
    expect(actor).toMatchObject({ machineVersion: 2 });
    const { stamps } = (actor?.context ?? {}) as { stamps?: number[] };
    return stamps?.join() ?? '';
  };
  const expected = names.map((_, index) => ['0,1,2', '1,2', '2'][Math.floor(index / 8)]);
  const found = async () => (await Promise.all(names.map(stampsOf))).join(' ');
  await until(async () => (await found()) === expected.join(' '), {
    what: 'each has its stamps',
    ...patience,
  });
  expect(stage.log(0) + stage.log(1)).not.toMatch(/"level":"error"|parked/);
});

test('a feature answers its requests, refuses what its schema does not know, and counts its steps', async () => {
  const subject = subjectsOf('own').rpcFeature('parcels', 'price');
  const ask = async (body: object) => {
    const answer = await stage.bus.request(subject, encodeJson(body), { timeoutMs: 10_000 });
    const refusal = errorInAnswer(answer);
    if (refusal) throw refusal;
    return decode(answer.data);
  };
  expect(await ask({ grams: 50 })).toMatchObject({ cents: 250, at: expect.any(Number) });
  await expect(ask({ grams: 0 })).rejects.toThrow('price');
  const counted = await Promise.all(
    stage.replicas.map(async ({ url }) => {
      const text = await (await fetch(`${url}/metrics`)).text();
      return Number(/^parcels_sent_total (\d+)$/m.exec(text)?.[1] ?? 0);
    }),
  );
  // A replica counts from its start: those that were sent before are not among them.
  expect(Math.max(...counted)).toBeGreaterThan(0);
});

const calmly = async (id: string) => {
  await stage.send(id, { type: 'calm.go' });
  await until(async () => (await stage.actor(id))?.state === 'idle', {
    what: `${id} has stepped`,
    ...patience,
  });
};

test('a loop without an end costs its actor, and its replica a restart: all else goes on', {
  timeout: 180_000,
}, async () => {
  await stage.send('rogue/shop/x', { type: 'rogue.begin' });
  await until(() => stage.actor('rogue/shop/x'), { what: 'it is there', ...patience });
  await stage.send('rogue/shop/x', { type: 'rogue.spin' });

  const dead = () => stage.replicas.findIndex((replica) => replica.pid() === undefined);
  const index = await until(() => (dead() < 0 ? null : { at: dead() }), {
    what: 'its replica ends',
    ...patience,
  });
  expect(stage.log(index.at)).toMatch(
    /"level":"error".*"feature":"rogue","what":"rogue: rogue.spin".*code of a feature does not yield/,
  );

  const survivor = 1 - index.at;
  const notes = async () => (await stage.readiness(survivor)).notes ?? [];
  await until(
    async () => (await notes()).some((note) => note.includes('code of the feature rogue did not')),
    {
      what: 'the other one interrupted it, and says so',
      ...patience,
    },
  );
  await Promise.all(['a', 'b', 'c', 'd'].map((name) => calmly(`calm/shop/${name}`)));
  const parked = async () => (await stage.actor('rogue/shop/x'))?.reason.health === 'wrong';
  await until(parked, { what: 'its actor is parked', ...patience });
  expect(stage.replicas[survivor]?.pid()).toBeDefined();
});
