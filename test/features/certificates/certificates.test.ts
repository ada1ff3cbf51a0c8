/** Certificates over several replicas: how often is ordered, who goes on, and what outlives everybody. */
import { describe, expect, test } from 'vitest';
import { AuthorityModel } from './authority-model.ts';

const minute = 60_000;
const hosts = (count: number) => Array.from({ length: count }, (_, n) => `h${n}.example.com`);

async function threeReplicas(model: AuthorityModel) {
  const { cluster } = model;
  const replicas = [await cluster.replica('a'), await cluster.replica('b'), await cluster.replica('c')];
  // Until each has its share of the shards.
  await cluster.clock.advance(15_000);
  return replicas;
}

test('“30 domains at once over 3 replicas: exactly 30 orders”', async () => {
  const model = new AuthorityModel();
  await threeReplicas(model);
  await model.ask(...hosts(30));
  await model.cluster.clock.advance(30_000);
  expect(model.secrets.size).toBe(30);
  expect(model.orders.map(({ host }) => host).sort()).toEqual(hosts(30).sort());
  expect(model.writes).toHaveLength(30);
  const owners = new Set(
    model.cluster.ran.filter(({ effect }) => effect.type === 'acme.order').map(({ replica }) => replica),
  );
  expect(owners.size).toBe(3);
});

test('§2.1: a host stays where it is, though an older object of another namespace asks later', async () => {
  const model = new AuthorityModel();
  await model.cluster.replica('a');
  await model.cluster.clock.advance(6_000);
  await model.ask('app.example.com');
  await model.cluster.clock.advance(1_000);
  await model.domain('evil', 'app.example.com', { createdAt: -1 });
  expect(model.cluster.states()['domain/_/app.example.com']).toBe('valid');
  expect(model.writes).toEqual(['shop/app.example.com f-https://ca/order/0']);
  expect(model.refused.get('app.example.com')).toMatchObject([{ namespace: 'evil' }]);
});

test('at no time are more than ten orders in work, over all replicas', async () => {
  const model = new AuthorityModel();
  await threeReplicas(model);
  let most = 0;
  const inWork = new Set<string>();
  model.meanwhile = (effect) => {
    if (effect.type === 'acme.order') inWork.add(String(effect.host));
    if (effect.type === 'certificate.store') inWork.delete(String(effect.host));
    most = Math.max(most, inWork.size);
    return undefined;
  };
  await model.ask(...hosts(40));
  await model.cluster.clock.advance(30_000);
  expect(model.secrets.size).toBe(40);
  expect(most).toBeLessThanOrEqual(10);
  expect(most).toBeGreaterThan(5);
});

describe('“Owner killed anywhere in the flow: the flow goes on elsewhere within 3 s; at most one extra order for that domain; never two Secrets in turn”', () => {
  const steps = ['certificate.inspect', 'acme.order', 'acme.authorize', 'acme.finalize', 'certificate.store'];

  test.each(steps)('killed in the middle of %s', async (step) => {
    const model = new AuthorityModel();
    const replicas = await threeReplicas(model);
    let killedAt = 0;
    let goneOnAt = 0;
    model.meanwhile = (effect, replica) => {
      if (effect.type !== step) return undefined;
      if (killedAt === 0) {
        killedAt = model.cluster.clock.now();
        replicas.find(({ name }) => name === replica)?.engine.kill();
      } else if (goneOnAt === 0) goneOnAt = model.cluster.clock.now();
      return undefined;
    };
    await model.ask('app.example.com');
    await model.cluster.clock.advance(10_000);
    expect(killedAt).toBeGreaterThan(0);
    expect(goneOnAt - killedAt).toBeLessThanOrEqual(3_000);
    expect(model.cluster.states()['domain/_/app.example.com']).toBe('valid');
    expect(model.orders.length).toBeLessThanOrEqual(2);
    expect(model.writes).toHaveLength(1);
  });
});

test('“Failure count and next attempt survive the death of all replicas”', async () => {
  const model = new AuthorityModel();
  const replicas = await threeReplicas(model);
  model.meanwhile = ({ type }) => (type === 'acme.order' ? { outcome: 'refused' } : undefined);
  await model.ask('app.example.com');
  await model.cluster.clock.advance(5 * minute);
  const before = model.statuses.get('app.example.com');
  expect(before).toMatchObject({ state: 'backingOff', failures: 3 });
  for (const { engine } of replicas) engine.kill();
  const tried = model.cluster.ranOf('acme.order').length;
  await model.cluster.replica('later');
  await model.cluster.clock.advance((before?.nextAttempt ?? 0) - model.cluster.clock.now() - 1_000);
  expect(model.cluster.ranOf('acme.order')).toHaveLength(tried);
  await model.cluster.clock.advance(2_000);
  expect(model.cluster.ranOf('acme.order')).toHaveLength(tried + 1);
  expect(model.statuses.get('app.example.com')).toMatchObject({ failures: 4 });
});

// Outages of weeks are the chart's test (test/machines/issuer/issuer.test.ts): here every heartbeat of every
// second is played.
test.each([3 * minute, 25 * minute])(
  '“After an outage of the authority of any length: first attempt within 5 min of its return” – %d ms',
  async (outageMs) => {
    const model = new AuthorityModel();
    await model.cluster.replica('a');
    model.isUp = false;
    await model.ask(...hosts(12));
    await model.cluster.clock.advance(outageMs);
    expect(model.secrets.size).toBe(0);
    const spoken = model.attempts.length;
    // The domains are quiet, the Issuer alone looks.
    expect(spoken).toBeLessThanOrEqual(12);
    model.isUp = true;
    const back = model.cluster.clock.now();
    await model.cluster.clock.advance(5 * minute);
    expect(model.attempts.length).toBeGreaterThan(spoken);
    expect((model.attempts[spoken]?.at ?? 0) - back).toBeLessThanOrEqual(5 * minute);
    await model.cluster.clock.advance(5 * minute);
    expect(model.secrets.size).toBe(12);
    expect(model.orders).toHaveLength(12);
    for (const host of hosts(12))
      expect(model.statuses.get(host)).toMatchObject({ state: 'valid', failures: 0 });
  },
);

test('an authority that goes away in the middle of twelve orders gets no order twice', async () => {
  const model = new AuthorityModel();
  await threeReplicas(model);
  await model.ask(...hosts(12));
  await model.cluster.clock.advance(150);
  model.isUp = false;
  await model.cluster.clock.advance(20 * minute);
  model.isUp = true;
  await model.cluster.clock.advance(10 * minute);
  expect(model.secrets.size).toBe(12);
  expect(model.orders).toHaveLength(12);
});

test('“Retry-After”: nobody speaks to the authority before the time is over, then one tries first', async () => {
  const model = new AuthorityModel();
  await model.cluster.replica('a');
  let limited = true;
  model.meanwhile = ({ type }) =>
    type === 'acme.order' && limited ? { outcome: 'rateLimited', retryAfterMs: 10 * minute } : undefined;
  await model.ask(...hosts(15));
  await model.cluster.clock.advance(5_000);
  const before = model.cluster.ranOf('acme.order').length;
  await model.cluster.clock.advance(9 * minute);
  expect(model.cluster.ranOf('acme.order')).toHaveLength(before);
  limited = false;
  await model.cluster.clock.advance(2 * minute);
  expect(model.secrets.size).toBe(15);
  const [first, second] = model.orders.map(({ url }) => url);
  expect(first).not.toBe(second);
});

test('a move of every shard, and a restart, order nothing', async () => {
  const model = new AuthorityModel();
  const first = await model.cluster.replica('a');
  await model.ask(...hosts(10));
  await model.cluster.clock.advance(30_000);
  expect(model.orders).toHaveLength(10);
  await model.cluster.replica('b');
  await model.cluster.clock.advance(30_000);
  first.engine.kill();
  await model.cluster.clock.advance(30_000);
  await model.cluster.replica('c');
  await model.cluster.clock.advance(30 * minute);
  expect(model.orders).toHaveLength(10);
  expect(model.writes).toHaveLength(10);
});

test('a Secret that somebody deletes is there again at once, by one order', async () => {
  const model = new AuthorityModel();
  await threeReplicas(model);
  await model.ask('app.example.com');
  await model.cluster.clock.advance(20_000);
  await model.remove('app.example.com');
  await model.cluster.clock.advance(2_000);
  expect(model.secrets.size).toBe(1);
  expect(model.orders).toHaveLength(2);
});

test('a host that nothing asks for any more is not ordered again; its Secret stays', async () => {
  const model = new AuthorityModel({ lifeMs: 60 * minute });
  await threeReplicas(model);
  await model.ask('app.example.com');
  await model.cluster.clock.advance(20_000);
  await model.retire('app.example.com');
  expect(model.cluster.states()['domain/_/app.example.com']).toBe('retired');
  await model.cluster.clock.advance(40 * minute);
  expect(model.orders).toHaveLength(1);
  expect(model.secrets.size).toBe(1);
});

test('a short-lived certificate is renewed at the half of its life, again and again', async () => {
  const model = new AuthorityModel({ lifeMs: 10 * minute, kind: 'ca' });
  await threeReplicas(model);
  await model.ask('app.example.com');
  await model.cluster.clock.advance(31 * minute);
  expect(model.writes.length).toBeGreaterThanOrEqual(6);
  expect(model.writes.length).toBeLessThanOrEqual(7);
  const held = model.secrets.get('shop/app.example.com');
  expect(held?.notAfter).toBeGreaterThan(model.cluster.clock.now());
});
