/** A real server in a temporary folder, for the tests of the bus. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bus } from '../../src/bus/bus.ts';
import { connectNats, type NatsOptions } from '../../src/bus/nats.ts';
import { systemClock } from '../../src/clock.ts';
import { startNatsServer } from '../../src/dev/nats-server.ts';
import { type Log, silentLog } from '../../src/log.ts';
import { systemRandom } from '../../src/random.ts';
import type { Backend } from './contract.ts';

export async function temporaryFolder(): Promise<{ dir: string; remove(): Promise<void> }> {
  const dir = await mkdtemp(join(tmpdir(), 'orrery-bus-'));
  return { dir, remove: () => rm(dir, { recursive: true, force: true, maxRetries: 5 }) };
}

export function connectTo(url: string, options: Partial<NatsOptions> = {}): Promise<Bus> {
  return connectNats({
    servers: [url],
    name: 'test',
    cluster: 'test',
    streamReplicas: 1,
    clock: systemClock,
    random: systemRandom,
    ...options,
  });
}

export async function natsBackend(cluster: string): Promise<Backend> {
  const folder = await temporaryFolder();
  const server = await startNatsServer({ dir: folder.dir });
  return {
    connect: () => connectTo(server.url, { cluster }),
    async close() {
      await server.stop();
      await folder.remove();
    },
  };
}

/** A log that keeps its lines. */
export function recordingLog(): Log & { readonly lines: string[] } {
  const lines: string[] = [];
  const write = (_facts: object, message: string) => void lines.push(message);
  const log = { ...silentLog, info: write, warn: write, error: write, lines, child: () => log };
  return log;
}
