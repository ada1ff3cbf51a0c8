/** A leaf node with a JetStream of its own: it shares all subjects with its hub, and no streams. */
import { afterEach, expect, test } from 'vitest';
import { freePort } from '../../../packages/dev-cluster/network/ports.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { subjects } from '../../../src/bus/subjects.ts';
import { createTroubles } from '../../../src/bus/troubles.ts';
import { until } from '../../until.ts';
import { bytes, text } from '../bus-parts.ts';
import { startConfigured } from './configured-server.ts';
import { connectTo } from './nats-backend.ts';

const s = subjects('test');
const cleanups: Array<() => Promise<unknown>> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function server(config: string) {
  const started = await startConfigured(config);
  cleanups.push(started.remove);
  return { ...started, url: `nats://127.0.0.1:${started.port}` };
}

test('there a replica makes no second streams, says why, and goes on once the leaf node leads to the hub', {
  timeout: 30_000,
}, async () => {
  const port = await freePort('127.0.0.1', 0);
  const hub = await server(
    `jetstream { store_dir: STORE, domain: hub }\nleafnodes { listen: "127.0.0.1:${port}" }`,
  );
  const first = await connectTo(hub.url);
  cleanups.push(() => first.close());
  await first.append(s.fence(1), bytes('of the hub'));
  const remote = `leafnodes { reconnect: 1, remotes: [{ url: "nats://127.0.0.1:${port}" }] }`;
  const leaf = await server(`jetstream { store_dir: STORE, domain: leaf }\n${remote}`);
  const probe = await connectTo(leaf.url, { onlyAsks: true });
  cleanups.push(() => probe.close());
  let isHeard = false;
  probe.subscribe(s.member('x'), () => {
    isHeard = true;
  });
  const isLinked = () => {
    first.publish(s.member('x'), bytes('x'));
    return isHeard;
  };
  await until(isLinked, { what: 'the leaf node to reach its hub' });

  const troubles = createTroubles(systemClock);
  const starting = connectTo(leaf.url, { troubles });
  const told = await until(() => troubles.all()[0]?.text, { what: 'the trouble' });
  expect(told).toMatch(
    /^the streams cannot be made .* no stream ORRERY_test_STATE in this JetStream, but in another one/,
  );
  await leaf.kill();
  await leaf.start(`default_js_domain: { $G: hub }\n${remote}`);
  const bus = await starting;
  cleanups.push(() => bus.close());
  expect(text((await bus.last('state', s.fence(1)))?.data ?? bytes(''))).toBe('of the hub');
  expect(troubles.all()).toEqual([]);
});
