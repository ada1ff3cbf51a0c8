/**
 * A server whose `max_payload` is below what actors save is refused at the start, in words, and not record by
 * record.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freePort } from '../../../packages/dev-cluster/network/ports.ts';
import { findNatsServer } from '../../../packages/dev-cluster/processes/nats-server.ts';
import { connectTo, temporaryFolder } from './nats-backend.ts';

test('a server that takes too little is refused with both numbers', async () => {
  const folder = await temporaryFolder();
  const port = await freePort('127.0.0.1', 0);
  const file = join(folder.dir, 'small.conf');
  await writeFile(
    file,
    `listen: "127.0.0.1:${port}"\nmax_payload: 65536\njetstream { store_dir: "${folder.dir}" }\n`,
  );
  const server = spawn((await findNatsServer()).path, ['-c', file], { stdio: 'ignore' });
  try {
    const url = `nats://127.0.0.1:${port}`;
    await expect(connectTo(url)).rejects.toThrow(/messages of 65536 bytes \(max_payload\), \d+ are needed/);
    // Whoever only asks sends nothing so large.
    const asks = await connectTo(url, { onlyAsks: true });
    await asks.close();
  } finally {
    server.kill('SIGKILL');
    await once(server, 'exit');
    await folder.remove();
  }
});
