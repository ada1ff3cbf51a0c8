/** `orrery health` as a process beside a real NATS server: what it takes, and that it survives the server. */
import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { freePort } from '../../../packages/dev-cluster/network/ports.ts';
import { startNatsServer } from '../../../packages/dev-cluster/processes/nats-server.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { encodeJson } from '../../../src/bus/codec.ts';
import { subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import { connectTo, temporaryFolder } from '../../bus/nats/nats-backend.ts';
import { start } from '../../cli/command.ts';
import { until } from '../../until.ts';

/** What an agent may take on each node. */
const memoryMaxKb = 60 * 1024;

const undos: Array<() => Promise<unknown>> = [];
afterEach(async () => {
  for (let undo = undos.pop(); undo; undo = undos.pop()) await undo();
});

/** Counted by the kernel; only Linux tells. */
function memoryKb(pid: number): number {
  if (process.platform !== 'linux') return 0;
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

test('the agent takes at most 60 MB, hears its node, and answers on while NATS is away', {
  timeout: 120_000,
}, async () => {
  const folder = await temporaryFolder();
  undos.push(folder.remove);
  let nats = await startNatsServer({ dir: folder.dir, clock: systemClock });
  undos.push(() => nats.stop());
  const bus = await connectTo(nats.url, { cluster: 'test' });
  undos.push(() => bus.close());
  const port = await freePort('127.0.0.1', 0);
  const args = ['health', '--node', 'node-1', '--http', `127.0.0.1:${port}`, '--proxier-health-timeout', '2'];
  const agent = start([...args, '--nats', nats.url, '--cluster', 'test'], { cwd: folder.dir });
  undos.push(async () => {
    agent.child.kill('SIGTERM');
    await agent.ended;
  });
  const body = async () =>
    (await fetch(`http://127.0.0.1:${port}/healthz`)).json() as Promise<{ status?: object }>;
  const code = async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).status;
  const isUp = () =>
    code().then(
      (status) => status === 200,
      () => false,
    );
  await until(isUp, { what: 'the agent to answer', timeoutMs: 30_000 });

  const send = (event: object) => bus.append(subjectsOf('test').send('proxier/_/node-1'), encodeJson(event));
  await send({ type: 'proxier.updated', family: 'IPv4' });
  await until(async () => (await body()).status !== undefined, { what: 'the agent to hear of the update' });
  await send({ type: 'proxier.queued', family: 'IPv4' });
  await until(async () => (await code()) === 503, { what: 'the proxier to be late' });
  expect(memoryKb(agent.child.pid ?? 0)).toBeLessThan(memoryMaxKb);

  await nats.kill();
  expect(await code()).toBe(503);
  nats = await startNatsServer({ dir: folder.dir, port: nats.port, clock: systemClock });
  await until(
    () =>
      send({ type: 'proxier.updated', family: 'IPv4' }).then(
        () => true,
        () => false,
      ),
    {
      what: 'NATS to take messages again',
      timeoutMs: 20_000,
    },
  );
  await until(async () => (await code()) === 200, { what: 'the agent to catch up' });
  expect(memoryKb(agent.child.pid ?? 0)).toBeLessThan(memoryMaxKb);
  agent.child.kill('SIGTERM');
  expect((await agent.ended).code).toBe(0);
});
