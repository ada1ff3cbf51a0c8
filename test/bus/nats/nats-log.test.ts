/** What the log says of trouble with NATS: what it means, and what to do. */
import type { NatsConnection } from 'nats';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { natsWire, onReconnect } from '../../../src/bus/nats/nats.ts';
import type { Wire } from '../../../src/bus/nats/wire.ts';
import { settle } from '../../virtual-clock.ts';
import { recordingLog } from './nats-backend.ts';

type Heard = (error: Error | null) => void;

function playedConnection() {
  const closed = Promise.withResolvers<Error | undefined>();
  const heard: Heard[] = [];
  const connection = {
    closed: () => closed.promise,
    isClosed: () => false,
    async *status() {},
    subscribe(_: string, { callback }: { callback: Heard }) {
      heard.push(callback);
      return { unsubscribe() {} };
    },
  } as unknown as NatsConnection;
  return { connection, closed, heard };
}

test('a subscription that is refused names its subject and the list of permissions', () => {
  const log = recordingLog();
  const { connection, heard } = playedConnection();
  natsWire(connection, { clock: systemClock }, log).subscribe('orrery.test.event.>', () => {});
  heard[0]?.(new Error('Permissions Violation'));
  expect(log.lines).toEqual([
    expect.stringMatching(/^a subscription was refused: .*deploy\/nats\/permissions\.conf.*restart/),
  ]);
  expect(log.facts).toMatchObject([{ subject: 'orrery.test.event.>' }]);
});

test('a connection that is closed for good says that the process does no more, and is to be restarted', async () => {
  const log = recordingLog();
  const { connection, closed } = playedConnection();
  natsWire(connection, { clock: systemClock }, log);
  closed.resolve(new Error('broken'));
  await settle();
  expect(log.lines).toEqual([expect.stringMatching(/closed for good: .*nothing more.*Restart it$/)]);
});

test('a server that is too old after a reconnect is named with the versions that will do', () => {
  const log = recordingLog();
  const wire = { serverVersion: '2.11.4', isClustered: false } as Wire;
  onReconnect(
    'connected',
    wire,
    { servers: [], name: 'test', cluster: 'test', clock: systemClock, random: systemRandom },
    log,
  );
  expect(log.lines.at(-1)).toMatch(/^connected to a NATS server that is too old: .*Upgrade the server/);
  expect(String((log.facts.at(-1) as { error: Error }).error)).toContain('must be 2.12 or newer');
});
