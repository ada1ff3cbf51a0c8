/** A leaf node with a JetStream of its own: it shares all subjects with its hub, and no streams. */
import { afterEach, expect, test } from 'vitest';
import { freePort } from '../../../packages/dev-cluster/network/ports.ts';
import { systemClock } from '../../../src/base/clock.ts';
import type { Bus } from '../../../src/bus/bus.ts';
import { subjects } from '../../../src/bus/subjects.ts';
import { createTroubles } from '../../../src/bus/troubles.ts';
import { gaugesOf } from '../../../src/replica/replica-tells.ts';
import { until } from '../../until.ts';
import { bytes, codeOf, text } from '../bus-parts.ts';
import { startConfigured } from './configured-server.ts';
import { connectTo, recordingLog } from './nats-backend.ts';

const s = subjects('test');
const cleanups: Array<() => Promise<unknown>> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A hub, and a leaf node with a JetStream of its own, which is connected to the hub when it is told to. */
async function hubAndLeaf() {
  const port = await freePort('127.0.0.1', 0);
  const own = (domain: string) => `jetstream { store_dir: STORE, domain: ${domain} }`;
  const remote = `leafnodes { reconnect: 1, remotes: [{ url: "nats://127.0.0.1:${port}" }] }`;
  const hub = await server(`${own('hub')}\nleafnodes { listen: "127.0.0.1:${port}" }`);
  const leaf = await server(own('leaf'));
  const again = async (config: string) => {
    await leaf.kill();
    await leaf.start(`${config}\n${remote}`);
  };
  return {
    ...{ hub, leaf },
    connect: () => again(own('leaf')),
    leadToHub: () => again('default_js_domain: { $G: hub }'),
  };
}

async function busOn(...given: Parameters<typeof connectTo>): Promise<Bus> {
  const bus = await connectTo(...given);
  cleanups.push(() => bus.close());
  return bus;
}

/** Waits until what one publishes reaches the other. */
async function untilHeard(speaker: Bus, listener: Bus): Promise<void> {
  let isHeard = false;
  listener.subscribe(s.member('x'), () => {
    isHeard = true;
  });
  const isThere = () => {
    speaker.publish(s.member('x'), bytes('x'));
    return isHeard;
  };
  await until(isThere, { what: 'the leaf node to reach its hub', timeoutMs: 15_000 });
}

async function server(config: string) {
  const started = await startConfigured(config);
  cleanups.push(started.remove);
  return { ...started, url: `nats://127.0.0.1:${started.port}` };
}

test('there a replica makes no second streams, says why, and goes on once the leaf node leads to the hub', {
  timeout: 30_000,
}, async () => {
  const { hub, leaf, connect, leadToHub } = await hubAndLeaf();
  const first = await busOn(hub.url);
  await first.append(s.fence(1), bytes('of the hub'));
  await connect();
  await untilHeard(first, await busOn(leaf.url, { onlyAsks: true }));

  const troubles = createTroubles(systemClock);
  const starting = connectTo(leaf.url, { troubles });
  const told = await until(() => troubles.all()[0]?.text, { what: 'the trouble' });
  expect(told).toMatch(
    /^the streams cannot be made .* no stream ORRERY_test_STATE in this JetStream, but in another one/,
  );
  await leadToHub();
  const bus = await starting;
  cleanups.push(() => bus.close());
  expect(text((await bus.last('state', s.fence(1)))?.data ?? bytes(''))).toBe('of the hub');
  expect(troubles.all()).toEqual([]);
});

/** What the replica's metrics say of it, as the alert reads them. */
function secondStoreOf(bus: Bus) {
  const engine = {} as never;
  for (const gauge of gaugesOf(engine, bus, { complaints: () => [] } as never, 0))
    if (gauge.name === 'orrery_nats_second_store') return gauge;
  return null;
}

test('with streams of its own there, their answers are not taken for those of the hub, and people are told', {
  timeout: 30_000,
}, async () => {
  const { hub, leaf, connect } = await hubAndLeaf();
  const log = recordingLog();
  const bus = await busOn(hub.url, { log });
  const other = await busOn(leaf.url);
  const { sequence } = await bus.append(s.fence(1), bytes('x'));
  await other.append(s.fence(1), bytes('y'));
  await connect();
  await untilHeard(bus, other);
  const [trouble] = await until(() => (bus.troubles().length > 0 ? bus.troubles() : undefined), {
    what: 'the trouble',
  });
  expect(trouble?.text).toMatch(/^another JetStream takes what is written to ORRERY_test_STATE, too/);
  expect(trouble?.isMinor).toBe(true);
  expect(secondStoreOf(bus)).toMatchObject({ labels: { sign: 'answers' }, value: 1 });
  const guard = { subject: s.fence(1), sequence };
  const save = () => codeOf(bus.append(s.releaseStatus('a'), bytes('x'), { guard }));
  const batch = () => codeOf(bus.appendAll([{ subject: s.nodesEpoch, data: bytes('x'), guard }]));
  for (let n = 0; n < 10; n++) expect([await save(), await batch()]).toEqual([undefined, undefined]);
  const stale = { subject: s.fence(1), sequence: sequence - 1 };
  expect(await codeOf(bus.append(s.fence(1), bytes('z'), { guard: stale }))).toBe('BUS_CONFLICT');
  await other.append(s.event('pod/shop/a'), bytes('only the leaf node can count to two'));
  const { sequence: counted } = await bus.append(s.event('pod/shop/a'), bytes('x'));
  expect(counted).toBe((await bus.streamState('event')).lastSequence);
  await leaf.kill();
  await until(() => bus.troubles().length === 0, { what: 'the end of it' });
  expect(secondStoreOf(bus)).toMatchObject({ value: 0 });
  expect(log.lines.filter((line) => line.startsWith('two JetStreams'))).toHaveLength(1);
});

test('a server that is given a domain while replicas run goes on storing for them', async () => {
  const own = await server('jetstream { store_dir: STORE }');
  const bus = await busOn(own.url);
  await bus.append(s.fence(1), bytes('x'));
  await own.kill();
  await own.start('jetstream { store_dir: STORE, domain: hub }');
  const store = () => bus.append(s.fence(1), bytes('y'), { timeoutMs: 500 });
  await until(() => store().then(Boolean, () => false), { what: 'a message to be stored' });
  expect(await codeOf(store())).toBeUndefined();
});
