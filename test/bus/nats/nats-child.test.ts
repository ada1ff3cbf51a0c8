/** The nats-server child process: it must start anywhere, and never outlive its parent. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findNatsServer, startNatsServer } from '../../../packages/dev-cluster/processes/nats-server.ts';
import { until } from '../../until.ts';
import { temporaryFolder } from './nats-backend.ts';

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

describe('the nats-server child', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  beforeAll(async () => {
    folder = await temporaryFolder();
  });
  afterAll(() => folder.remove());

  test('listens on the loopback address alone, on a port of its own choice, and is gone after stop', async () => {
    const [one, two] = await Promise.all(
      ['a', 'b'].map((name) => startNatsServer({ dir: join(folder.dir, name) })),
    );
    expect(one?.url).toMatch(/^nats:\/\/127\.0\.0\.1:\d+$/);
    expect(one?.port).not.toBe(two?.port);
    for (const server of [one, two]) {
      expect(isAlive(server?.pid ?? 0)).toBe(true);
      await server?.stop();
      await server?.stop();
      expect(isAlive(server?.pid ?? 0)).toBe(false);
    }
  });

  test('is gone after kill, and after stop while it hangs', async () => {
    const server = await startNatsServer({ dir: join(folder.dir, 'c') });
    await server.kill();
    expect(isAlive(server.pid)).toBe(false);
    const hanging = await startNatsServer({ dir: join(folder.dir, 'c') });
    hanging.pause();
    await hanging.stop();
    expect(isAlive(hanging.pid)).toBe(false);
  });

  test('that cannot start says why in one line', async () => {
    const server = await startNatsServer({ dir: join(folder.dir, 'd') });
    const taken = startNatsServer({ dir: join(folder.dir, 'e'), port: server.port });
    await expect(taken).rejects.toThrow(/did not start.*address already in use/);
    await server.stop();
  });

  test('that is not found is asked for in one line', async () => {
    const before = process.env.NATS_SERVER;
    process.env.NATS_SERVER = join(folder.dir, 'nowhere');
    try {
      await expect(findNatsServer()).rejects.toThrow(
        /^a nats-server of 2\.12 or newer is needed .*nowhere does not run/,
      );
    } finally {
      if (before === undefined) delete process.env.NATS_SERVER;
      else process.env.NATS_SERVER = before;
    }
  });

  test('ends when its parent is killed', async () => {
    const module = resolve(import.meta.dirname, '../../../packages/dev-cluster/processes/nats-server.ts');
    const script = `
      import { startNatsServer } from ${JSON.stringify(module)};
      const server = await startNatsServer({ dir: ${JSON.stringify(join(folder.dir, 'f'))} });
      console.log(server.pid);
      setInterval(() => undefined, 1000);`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = await once(createInterface({ input: parent.stdout }), 'line');
    const pid = Number(line);
    expect(isAlive(pid)).toBe(true);
    parent.kill('SIGKILL');
    await until(() => !isAlive(pid), { what: 'the server to end' });
  });
});
