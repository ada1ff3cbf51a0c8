/** A real server with a configuration of the test's own, which can change while it runs. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../../packages/dev-cluster/network/ports.ts';
import { findNatsServer } from '../../../packages/dev-cluster/processes/nats-server.ts';
import { until } from '../../until.ts';
import { temporaryFolder } from './nats-backend.ts';

export interface ConfiguredServer {
  readonly port: number;
  readonly dir: string;
  /** Resolves when the server says that it has taken the new configuration. */
  reload(config: string): Promise<void>;
  kill(): Promise<void>;
  /** After `kill`, with another configuration if one is given. */
  start(config?: string): Promise<void>;
  remove(): Promise<void>;
}

/** @param config without its port and its folder, as `nats-server -c` reads it */
export async function startConfigured(config: string): Promise<ConfiguredServer> {
  const folder = await temporaryFolder();
  const port = await freePort('127.0.0.1', 0);
  const file = join(folder.dir, 'server.conf');
  const { path } = await findNatsServer();
  let said = '';
  const write = (text: string) =>
    writeFile(file, `listen: "127.0.0.1:${port}"\n${text.replace('STORE', JSON.stringify(folder.dir))}\n`);
  const spawned = () => {
    said = '';
    const child = spawn(path, ['-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
    child.stderr.on('data', (chunk) => {
      said += chunk;
    });
    return child;
  };
  const isSaid = (words: string) => until(() => said.includes(words), { what: words });
  await write(config);
  let server = spawned();
  await isSaid('Server is ready');
  const kill = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    server.kill('SIGKILL');
    await once(server, 'exit');
  };
  return {
    port,
    dir: folder.dir,
    async reload(text) {
      await write(text);
      said = '';
      server.kill('SIGHUP');
      await isSaid('Reloaded server configuration');
    },
    kill,
    async start(text) {
      if (text !== undefined) await write(text);
      server = spawned();
      await isSaid('Server is ready');
    },
    async remove() {
      await kill();
      await folder.remove();
    },
  };
}
