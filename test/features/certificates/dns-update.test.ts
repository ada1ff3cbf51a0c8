/** Dynamic updates, and questions about names, at a real name server (BIND). */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { exchange } from '../../../src/features/certificates/dns/exchange.ts';
import { createNames, zoneAt } from '../../../src/features/certificates/dns/names.ts';
import { type TextUpdate, updateText } from '../../../src/features/certificates/dns/update.ts';
import { type Bind, hasBind, startBind } from './bind.ts';

const { signal } = new AbortController();
const parts = { clock: systemClock, random: systemRandom };

if (!hasBind) process.stdout.write('named (BIND 9) is not here: tests of RFC 2136 are skipped\n');

let bind: Bind;
beforeAll(async () => {
  if (hasBind) bind = await startBind();
});
afterAll(() => bind?.stop());

const keyOf = (algorithm: 'hmac-sha256' | 'hmac-sha512', secret?: string) => {
  const name = `key-${algorithm}`;
  return { name, algorithm, secret: Buffer.from(secret ?? bind.keys[name] ?? '', 'base64') };
};
const change = (action: 'add' | 'delete', value: string, name = 'app'): TextUpdate => ({
  server: bind.server,
  zone: 'example.test',
  fqdn: `_acme-challenge.${name}.example.test`,
  value,
  action,
});

describe.skipIf(!hasBind)('updates', () => {
  test.each(['hmac-sha256', 'hmac-sha512'] as const)(
    'takes a record by %s, twice, beside another one, and gives it up again, twice',
    async (algorithm) => {
      const key = keyOf(algorithm);
      const update = (action: 'add' | 'delete', value: string) =>
        updateText(change(action, value, algorithm), key, parts, signal);
      await update('add', 'of-the-wildcard');
      await update('add', 'of-the-host');
      await update('add', 'of-the-host');
      const name = `_acme-challenge.${algorithm}.example.test`;
      expect(await bind.texts(name)).toEqual(['of-the-host', 'of-the-wildcard']);
      await update('delete', 'of-the-host');
      await update('delete', 'of-the-host');
      expect(await bind.texts(name)).toEqual(['of-the-wildcard']);
    },
  );

  test('does not know a key, does not accept another secret, does not hold another zone: each is told by its name', async () => {
    const wrongSecret = keyOf('hmac-sha256', Buffer.alloc(32, 7).toString('base64'));
    const unknown = { ...keyOf('hmac-sha256'), name: 'somebody' };
    const failing = (key: typeof unknown, update = change('add', 'v')) =>
      updateText(update, key, parts, signal);
    await expect(failing(wrongSecret)).rejects.toMatchObject({
      code: 'ACME_REFUSED',
      message: expect.stringMatching(/NOTAUTH.*BADSIG/),
    });
    await expect(failing(unknown)).rejects.toThrow(/NOTAUTH.*BADKEY/);
    await expect(
      failing(keyOf('hmac-sha256'), { ...change('add', 'v'), zone: 'other.test' }),
    ).rejects.toThrow(/NOTAUTH/);
    await expect(
      failing(keyOf('hmac-sha256'), { ...change('add', 'v'), fqdn: '_acme-challenge.dyn.test' }),
    ).rejects.toThrow(/NOTZONE/);
    expect(await bind.texts('_acme-challenge.app.example.test')).toEqual([]);
  });

  test('takes without a word what nobody will see: beside a CNAME, and below a delegation; that is told', async () => {
    const add = (name: string) => updateText(change('add', 'v', name), keyOf('hmac-sha256'), parts, signal);
    await expect(add('www')).rejects.toMatchObject({
      code: 'ACME_REFUSED',
      message: expect.stringMatching(/CNAME to www\.dyn\.test.*cnameStrategy: Follow/),
    });
    await expect(add('app.cut')).rejects.toThrow(/delegates cut\.example\.test to ns\.elsewhere\.test/);
  });

  test('whose clock is another one says so', async () => {
    const clock = { ...systemClock, now: () => systemClock.now() - 3_600_000 };
    await expect(
      updateText(change('add', 'v'), keyOf('hmac-sha256'), { ...parts, clock }, signal),
    ).rejects.toThrow(/BADTIME/);
  });

  test('is asked over TCP for what does not fit into a datagram', async () => {
    expect(await bind.texts('long.example.test')).toHaveLength(40);
  });
});

describe.skipIf(!hasBind)('names', () => {
  test('says which zone holds a name, also one that is not there yet', async () => {
    const zone = (name: string) => zoneAt(bind.server, name, systemRandom, signal);
    expect(await zone('_acme-challenge.a.b.example.test')).toBe('example.test');
    expect(await zone('example.test')).toBe('example.test');
    expect(await zone('_acme-challenge.www.example.test')).toBe('example.test');
    await expect(zone('_acme-challenge.example.org')).rejects.toThrow(/answers REFUSED/);
  });

  test('a CNAME is followed to its end, over several names; one that leads in a circle is told', async () => {
    const names = createNames({ random: systemRandom, servers: [bind.server] });
    expect(await names.follow('_acme-challenge.www.example.test', signal)).toBe('www.dyn.test');
    expect(await names.follow('_acme-challenge.far.example.test', signal)).toBe('far.dyn.test');
    expect(await names.follow('_acme-challenge.none.example.test', signal)).toBe(
      '_acme-challenge.none.example.test',
    );
    expect(await names.zoneOf('www.dyn.test', signal)).toBe('dyn.test');
    await expect(names.follow('circle.example.test', signal)).rejects.toThrow(
      'circle.example.test → round.example.test → circle.example.test',
    );
  });
});

test('a server that is not there is told by its name', async () => {
  const key = { name: 'k', algorithm: 'hmac-sha256', secret: Buffer.alloc(32) } as const;
  const update = { server: '127.0.0.1:1', zone: 'z', fqdn: 'a.z', value: 'v', action: 'add' } as const;
  await expect(updateText(update, key, parts, signal)).rejects.toThrow(
    'name server 127.0.0.1:1 cannot be queried: connection refused',
  );
});

test('a question that is given up before the server has an address ends, though nobody answers', async () => {
  const silent = createSocket('udp4').bind(0, '127.0.0.1');
  await once(silent, 'listening');
  const ending = new AbortController();
  const asked = exchange(`127.0.0.1:${silent.address().port}`, Buffer.alloc(12), ending.signal);
  ending.abort(new Error('given up'));
  await expect(asked).rejects.toThrow('given up');
  silent.close();
});
