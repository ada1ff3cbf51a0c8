/**
 * “Owner killed anywhere in the flow”: three replicas as processes, a real ACME server, and SIGKILL for the
 * one that obtains the certificate, while its request to the authority is on the way.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { secrets } from '../../../src/features/certificates/resources.ts';
import { until } from '../../until.ts';
import { type Pebble, startPebble } from './pebble.ts';
import { Stage } from './stage.ts';

let stage: Stage;
let pebble: Pebble;

beforeAll(async () => {
  [stage, pebble] = await Promise.all([Stage.start({ restarts: true }), startPebble()]);
  pebble.answerers = stage.cluster.replicas.map(({ acmeUrl }) => acmeUrl);
  await stage.acmeIssuer('pebble', pebble);
}, 90_000);
afterAll(async () => {
  await stage?.stop();
  await pebble?.stop();
});

/** Index of the replica that took the domain's last step. */
async function ownerOf(host: string): Promise<number> {
  const last = (await stage.story()).filter(({ id }) => id === `domain/_/${host}`).at(-1);
  return Number(last?.replica.split('-')[1]);
}

test.each(['newOrder', 'challenge', 'finalize', 'certificate'])(
  'killed while %s is on its way: another goes on within 3 s, there is one order too many at most, one Secret',
  async (kind) => {
    const name = `kill-${kind.toLowerCase()}`;
    const host = `${name}.example.com`;
    const before = pebble.counts.get('newOrder') ?? 0;
    let killedAt = 0;
    let nextAt = 0;
    pebble.interfere = async (request) => {
      if (killedAt > 0) {
        if (nextAt === 0) nextAt = systemClock.monotonic();
      } else if (request.kind === kind) {
        killedAt = systemClock.monotonic();
        await stage.cluster.kill(await ownerOf(host), 'SIGKILL');
        killedAt = systemClock.monotonic();
      }
      return undefined;
    };
    await stage.domain(name, { host });
    const held = await stage.held(host, { timeoutMs: 20_000 });
    await stage.untilState(name, 'valid');
    pebble.interfere = () => undefined;
    expect(killedAt).toBeGreaterThan(0);
    expect(nextAt).toBeGreaterThan(killedAt);
    process.stdout.write(`goes on ${Math.round(nextAt - killedAt)} ms after SIGKILL\n`);
    expect((pebble.counts.get('newOrder') ?? 0) - before).toBeLessThanOrEqual(2);
    // Nothing changes it afterwards.
    await until(async () => (await stage.ready()) === 3, {
      what: 'the killed replica to be back',
      timeoutMs: 30_000,
    });
    expect((await stage.held(host)).fingerprint).toBe(held.fingerprint);
    const { items } = await stage.cluster.kube.list(
      secrets,
      { namespace: 'shop' },
      new AbortController().signal,
    );
    expect(items.map(({ metadata }) => metadata.name)).not.toContain(`${host}-next`);
  },
  60_000,
);
