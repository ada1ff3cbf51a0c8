/** A real server in a temporary folder, for the tests of the bus. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNatsServer } from '../../../packages/dev-cluster/processes/nats-server.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { type Log, silentLog } from '../../../src/base/log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import type { Bus } from '../../../src/bus/bus.ts';
import { connectNats, type NatsParts } from '../../../src/bus/nats/nats.ts';
import type { Backend } from '../contract.ts';

export async function temporaryFolder(): Promise<{ dir: string; remove(): Promise<void> }> {
  const dir = await mkdtemp(join(tmpdir(), 'orrery-bus-'));
  return { dir, remove: () => rm(dir, { recursive: true, force: true, maxRetries: 5 }) };
}

/** @param options.onlyAsks a client that neither creates nor changes the streams */
export function connectTo(
  url: string,
  { onlyAsks = false, ...options }: Partial<NatsParts> & { onlyAsks?: boolean } = {},
): Promise<Bus> {
  return connectNats({
    servers: [url],
    name: 'test',
    cluster: 'test',
    ...(onlyAsks ? {} : { streamReplicas: 1 }),
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

/** A log that keeps what is written to it. */
export function recordingLog(): Log & { readonly lines: string[]; readonly facts: object[] } {
  const lines: string[] = [];
  const facts: object[] = [];
  const write = (fact: object, message: string) => {
    lines.push(message);
    facts.push(fact);
  };
  const log = { ...silentLog, info: write, warn: write, error: write, lines, facts, child: () => log };
  return log;
}
