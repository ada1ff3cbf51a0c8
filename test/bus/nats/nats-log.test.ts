/** What the log says of trouble with NATS: what it means, and what to do. */
import type { NatsConnection } from 'nats';
import { expect, test } from 'vitest';
import { natsWire } from '../../../src/bus/nats/nats.ts';
import { tellOutages } from '../../../src/bus/nats/server/outage.ts';
import { onReconnect } from '../../../src/bus/nats/server/server-check.ts';
import { createTroubles } from '../../../src/bus/troubles.ts';
import { settle, VirtualClock } from '../../virtual-clock.ts';
import { recordingLog } from './nats-backend.ts';

type Heard = (error: Error | null) => void;

function playedConnection() {
  const closed = Promise.withResolvers<Error | undefined>();
  const heard: Heard[] = [];
  const flushes: Array<() => void> = [];
  const connection = {
    closed: () => closed.promise,
    isClosed: () => false,
    async *status() {},
    flush: () => new Promise<void>((resolve) => void flushes.push(resolve)),
    subscribe(_: string, { callback }: { callback: Heard }) {
      heard.push(callback);
      return { unsubscribe() {} };
    },
  } as unknown as NatsConnection;
  return { connection, closed, heard, flushes };
}

function wireOn(connection: NatsConnection) {
  const clock = new VirtualClock();
  const troubles = createTroubles(clock);
  const log = recordingLog();
  return { wire: natsWire(connection, { clock, troubles }, log), clock, troubles, log };
}

test('subscriptions that are refused are one line and one trouble of what a permission would allow', async () => {
  const { connection, heard } = playedConnection();
  const { wire, log, troubles, clock } = wireOn(connection);
  for (const subject of [
    'orrery.test.rpc.list',
    'orrery.test.rpc.get.*.*.*',
    '$SRV.PING',
    '$SRV.INFO.orrery',
  ])
    wire.subscribe(subject, () => {});
  for (const refuse of heard) refuse(new Error('Permissions Violation'));
  await clock.advance(1_000);
  expect(log.lines).toEqual([expect.stringContaining('deploy/nats/permissions.conf')]);
  expect(log.facts).toEqual([{ subjects: ['$SRV.>', 'orrery.test.rpc.>'] }]);
  expect(troubles.all()).toMatchObject([
    { text: expect.stringMatching(/orrery\.test\.rpc\.>: nothing there is heard/), isMinor: false },
    {
      text: expect.stringMatching(/\$SRV\.>: nats micro does not show .* everything else works/),
      isMinor: true,
    },
  ]);
});

test.each([
  ['alive.r1.x', 'a replica that dies is missed 0.4 s later; everything else', 'alive.>'],
  ['pulse.r1', 'a replica is taken for dead after a pause of 0.8 s', 'pulse.>'],
])(
  'a refusal that costs little says what it costs, as where permissions are of an earlier release: %s',
  async (word, loss, family) => {
    const { connection, heard } = playedConnection();
    const { wire, log, troubles, clock } = wireOn(connection);
    wire.subscribe(`orrery.test.${word}`, () => {});
    for (const refuse of heard) refuse(new Error('Permissions Violation'));
    await clock.advance(1_000);
    expect(log.lines).toEqual([expect.stringContaining(loss)]);
    expect(log.facts).toEqual([{ subjects: [`orrery.test.${family}`] }]);
    expect(troubles.all()).toMatchObject([{ isMinor: true }]);
  },
);

test('a subscription that is refused is tried again until it is taken, which is said once', async () => {
  const { connection, heard, flushes } = playedConnection();
  const { wire, log, troubles, clock } = wireOn(connection);
  wire.subscribe('a', () => {});
  heard[0]?.(new Error('Permissions Violation'));
  await clock.advance(2_000);
  expect(heard).toHaveLength(2);
  heard[1]?.(new Error('Permissions Violation'));
  flushes[0]?.();
  await settle();
  expect(troubles.all()).toHaveLength(1);
  await clock.advance(2_000);
  flushes[1]?.();
  await settle();
  expect(heard).toHaveLength(3);
  expect(troubles.all()).toEqual([]);
  await clock.advance(1_000);
  expect(log.lines).toEqual([
    expect.stringMatching(/^NATS refuses this user the subscription/),
    'subjects whose subscription was refused are heard now',
  ]);
});

test('a connection that is closed for good says that the process ends', async () => {
  const { connection, closed } = playedConnection();
  const { log } = wireOn(connection);
  closed.resolve(new Error('broken'));
  await settle();
  expect(log.lines).toEqual([expect.stringMatching(/closed for good: this process ends/)]);
});

const server = { serverVersion: '2.15.1', isClustered: false, maxPayload: 1_048_576 };
const replica = { servers: [], streamReplicas: 1 };

test('a server that is too old after a reconnect is named with the versions that will do', () => {
  const log = recordingLog();
  onReconnect('connected', { ...server, serverVersion: '2.11.4' }, replica, log);
  expect(log.lines.at(-1)).toMatch(/^connected to a NATS server that is too old: .*Upgrade the server/);
  expect(String((log.facts.at(-1) as { error: Error }).error)).toContain('must be 2.12 or newer');
});

test('a server that takes less after a reconnect is named with what is needed', () => {
  const log = recordingLog();
  onReconnect('connected', { ...server, maxPayload: 65_536 }, replica, log);
  expect(log.lines.at(-1)).toMatch(/^connected to a NATS server that takes only smaller messages/);
  expect(String((log.facts.at(-1) as { error: Error }).error)).toContain('540672 are needed');
});

test('an attempt that ends in a broken pipe is told by what the server said before', async () => {
  const troubles = createTroubles(new VirtualClock());
  const fails = [new Error('maximum connections exceeded'), undefined];
  const protocol = {
    lastError: undefined as Error | undefined,
    async _doDial(_: { gossiped: boolean }) {
      protocol.lastError = fails.shift() ?? protocol.lastError;
      throw new Error('write EPIPE');
    },
  };
  tellOutages({ protocol }, troubles, recordingLog());
  const told = async () => {
    await protocol._doDial({ gossiped: false }).catch(() => undefined);
    return troubles.all().map(({ text }) => text);
  };
  expect(await told()).toEqual([expect.stringContaining('raise max_connections')]);
  expect(await told()).toEqual(['NATS cannot be reached: write EPIPE']);
});
