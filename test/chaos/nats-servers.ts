/**
 * The NATS of a run: one server, or three with three copies of each stream. Servers are killed, paused and
 * started again; what they had stored stays.
 */
import { join } from 'node:path';
import {
  type NatsServer,
  startNatsCluster,
  startNatsServer,
} from '../../packages/dev-cluster/processes/nats-server.ts';

export interface NatsServers {
  readonly copies: 1 | 3;
  /** Where all of them store. */
  readonly dir: string;
  /** undefined: it is not running. */
  server(index: number): NatsServer | undefined;
  port(index: number): number;
  readonly living: readonly number[];
  kill(index: number): Promise<void>;
  start(index: number): Promise<void>;
  stop(): Promise<void>;
}

export async function startServers(dir: string, copies: 1 | 3): Promise<NatsServers> {
  const { servers, startAgain } = await startAll(dir, copies);
  const ports = servers.map(({ port }) => port);
  const running: Array<NatsServer | undefined> = [...servers];
  let starting: Promise<void> = Promise.resolve();
  let isOver = false;
  return {
    ...{ copies, dir },
    server: (index) => running[index],
    port: (index) => ports[index] ?? 0,
    get living() {
      return [...running.keys()].filter((index) => running[index] !== undefined);
    },
    async kill(index) {
      const server = running[index];
      running[index] = undefined;
      await server?.kill();
    },
    start(index) {
      // One after another: whoever stops everything waits for the one that is starting.
      starting = starting.then(async () => {
        if (!isOver && running[index] === undefined) running[index] = await startAgain(index);
      });
      return starting;
    },
    async stop() {
      isOver = true;
      await starting.catch(() => {});
      await Promise.all(running.map((server) => server?.kill()));
    },
  };
}

async function startAll(dir: string, copies: 1 | 3) {
  if (copies === 3) return startNatsCluster({ size: 3, dir, advertises: false });
  const parts = { dir: join(dir, 'n0'), name: 'n0' };
  const first = await startNatsServer(parts);
  return { servers: [first], startAgain: () => startNatsServer({ ...parts, port: first.port }) };
}
