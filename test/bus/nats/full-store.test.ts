/** A server whose store is full: what a client is told (docs/features/proxiers.md §6.3). */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freePort } from '../../../packages/dev-cluster/network/ports.ts';
import { findNatsServer } from '../../../packages/dev-cluster/processes/nats-server.ts';
import { systemClock } from '../../../src/base/clock.ts';
import type { Bus } from '../../../src/bus/bus.ts';
import { watchStoring } from '../../../src/bus/storing.ts';
import { streamDefinitions } from '../../../src/bus/streams.ts';
import { subjects } from '../../../src/bus/subjects.ts';
import { codeOf } from '../bus-parts.ts';
import { jetStream } from './backup.ts';
import { connectTo, recordingLog, temporaryFolder } from './nats-backend.ts';

const cluster = 'full';
const s = subjects(cluster);
const block = new Uint8Array(200_000).fill(7);

/** Stores until the server does not. */
async function fill(bus: Bus): Promise<string | undefined> {
  for (let n = 0; n < 40; n++) {
    const code = await codeOf(bus.append(s.state(1, `pod/shop/p${n}`), block));
    if (code !== undefined) return code;
  }
  return undefined;
}

async function withServer(jetstream: string, use: (bus: Bus) => Promise<void>): Promise<void> {
  const folder = await temporaryFolder();
  const port = await freePort('127.0.0.1', 0);
  const file = join(folder.dir, 'full.conf');
  const store = JSON.stringify(folder.dir);
  await writeFile(file, `listen: "127.0.0.1:${port}"\njetstream { store_dir: ${store}, ${jetstream} }\n`);
  const server = spawn((await findNatsServer()).path, ['-c', file], { stdio: 'ignore' });
  try {
    const bus = await connectTo(`nats://127.0.0.1:${port}`, { cluster });
    await use(bus);
    await bus.close();
  } finally {
    server.kill('SIGKILL');
    await once(server, 'exit');
    await folder.remove();
  }
}

async function saysSo(bus: Bus, makeRoom: () => Promise<unknown>): Promise<void> {
  const log = recordingLog();
  const storing = watchStoring(bus, { streams: streamDefinitions(cluster), clock: systemClock, log });
  expect(storing.troubles()).toEqual([]);
  expect(await fill(storing.bus)).toMatch(/^BUS_(REFUSED|UNKNOWN_OUTCOME)$/);
  expect(storing.troubles()).toEqual([
    expect.objectContaining({
      stream: 'ORRERY_full_STATE',
      error: expect.stringMatching(/resource|maximum bytes|exceeded/),
    }),
  ]);
  expect(storing.bus.status).toBe('connected');
  await makeRoom();
  await storing.bus.append(s.state(1, 'pod/shop/p0'), new Uint8Array(10));
  expect(storing.troubles()).toEqual([]);
}

test(
  'a store that is full is told as what it is, until something was removed',
  () =>
    withServer('max_file_store: 2MB', (bus) =>
      saysSo(bus, () => bus.purge('state', { subject: s.stateAll })),
    ),
  30_000,
);

test(
  'a stream at its max_bytes likewise, until it may hold more',
  () =>
    withServer('max_file_store: 100MB', async (bus) => {
      const { config } = (await jetStream(bus, 'STREAM.INFO.ORRERY_full_STATE')) as { config: object };
      const bound = (bytes: number) =>
        jetStream(bus, 'STREAM.UPDATE.ORRERY_full_STATE', { ...config, max_bytes: bytes, discard: 'new' });
      await bound(2_000_000);
      await saysSo(bus, () => bound(20_000_000));
    }),
  30_000,
);
