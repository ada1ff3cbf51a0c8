/** Many domains at once, over three replicas as processes, with a real ACME server. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Pebble, startPebble } from './pebble.ts';
import { Stage } from './stage.ts';

let stage: Stage;
let pebble: Pebble;

beforeAll(async () => {
  [stage, pebble] = await Promise.all([Stage.start(), startPebble()]);
  pebble.answerers = stage.cluster.replicas.map(({ acmeUrl }) => acmeUrl);
  await stage.acmeIssuer('pebble', pebble);
}, 90_000);
afterAll(async () => {
  await stage?.stop();
  await pebble?.stop();
});

test('“30 domains at once over 3 replicas: exactly 30 orders”, “in the Secret within 1 s of issuance”', async () => {
  await stage.settled();
  const before = pebble.counts.get('newOrder') ?? 0;
  const hosts = Array.from({ length: 30 }, (_, n) => `many-${n}`);
  await Promise.all(hosts.map((name) => stage.domain(name, { host: `${name}.example.com` })));
  for (const name of hosts) await stage.held(`${name}.example.com`, { timeoutMs: 60_000 });
  for (const name of hosts) await stage.untilState(name, 'valid');
  const issuedAt = new Map<string, number>();
  const late: number[] = [];
  for (const { id, from, to, at } of await stage.story()) {
    if (to === 'storing') issuedAt.set(id, at);
    if (from === 'storing' && to === 'valid') late.push(at - (issuedAt.get(id) ?? 0));
  }
  expect(late.length).toBeGreaterThanOrEqual(30);
  process.stdout.write(`in the Secret at most ${Math.max(...late)} ms after its issue\n`);
  expect((pebble.counts.get('newOrder') ?? 0) - before).toBe(30);
}, 90_000);
