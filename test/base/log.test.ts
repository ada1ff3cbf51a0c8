/** The log keeps secrets to itself (I9) and stays within its bounds. */
import { expect, test } from 'vitest';
import { OrreryError } from '../../src/base/errors.ts';
import { limits } from '../../src/base/limits.ts';
import { createLog } from '../../src/base/log.ts';
import { changeLevelOnSignal } from '../../src/replica/log-level.ts';

function logged(facts: object, message = 'said'): Record<string, unknown> {
  const lines: string[] = [];
  createLog({ level: 'info', facts: { replica: 'r1' }, write: (line) => lines.push(line) }).info(
    facts,
    message,
  );
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0] ?? '');
}

test('a line has level, time, replica, facts and message', () => {
  expect(logged({ shard: 3 })).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    replica: 'r1',
    shard: 3,
    msg: 'said',
  });
});

test('a level below the wanted one is not written', () => {
  const lines: string[] = [];
  const log = createLog({ level: 'warn', write: (line) => lines.push(line) });
  log.info({}, 'quiet');
  log.child({ shard: 1 }).warn({}, 'loud');
  expect(lines.map((line) => JSON.parse(line))).toEqual([expect.objectContaining({ shard: 1, msg: 'loud' })]);
});

test.each([
  { token: 'abc' },
  { headers: { Authorization: 'Basic YWJjZGVm' } },
  { deep: { list: [{ clientSecret: 'abc' }] } },
  { privateKey: 'abc' },
  { 'account-key': 'abc' },
  { key: 'abc' },
  { password: 'abc' },
])('what is named like a secret is hidden: %j', (facts) => {
  const text = JSON.stringify(logged(facts));
  expect(text).toContain('[hidden]');
  expect(text).not.toMatch(/abc|YWJj/);
});

test.each([
  '-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIE\n-----END EC PRIVATE KEY-----',
  'sent Bearer abcdef0123456789 to it',
  'token eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl',
  'connecting to nats://ann:s3cret@nats:4222',
  `seed SUA${'B'.repeat(55)}`,
])('what has the form of a secret is hidden in texts, messages and errors: %s', (secret) => {
  const text = JSON.stringify(
    logged({ note: secret, error: new Error(secret, { cause: new Error(secret) }) }, secret),
  );
  expect(text).not.toMatch(/MHcCAQ|abcdef0123|c2lnbm|s3cret|BBBBBB/);
});

test.each(['pod/shop/web-0/12/0', 'node-drain2/_/a/3/0'])(
  'the key of an effect is a name and stays: %s',
  (key) => {
    expect(logged({ key }).key).toBe(key);
  },
);

test('an error is written with code, facts and causes', () => {
  const error = new OrreryError('BUS_CONFLICT', 'refused', {
    facts: { shard: 3 },
    cause: new Error('10071'),
  });
  expect(logged({ error }).error).toMatchObject({
    code: 'BUS_CONFLICT',
    facts: { shard: 3 },
    message: 'refused',
    cause: { message: '10071' },
  });
});

test('a line is bounded: long texts are cut, deep, long and circular values too', () => {
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  const line = logged({
    circular,
    text: 'x'.repeat(1e6),
    list: Array.from({ length: 1e5 }, () => 1),
    bytes: new Uint8Array(9),
  });
  expect(JSON.stringify(line).length).toBeLessThan(2 * limits.logTextChars);
  expect(line.bytes).toBe('[9 bytes]');
});

test('the level can be changed while it runs, for children too', () => {
  const lines: string[] = [];
  const log = createLog({ level: 'info', write: (line) => lines.push(line) });
  const child = log.child({ shard: 1 });
  child.debug({}, 'before');
  log.setLevel('debug');
  child.debug({}, 'during');
  expect([log.level, child.isDebug?.()]).toEqual(['debug', true]);
  log.setLevel('info');
  child.debug({}, 'after');
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['during']);
});

test('SIGUSR2 goes down level by level and comes back to the configured one', () => {
  const lines: string[] = [];
  const log = createLog({ level: 'warn', write: (line) => lines.push(line) });
  const end = new AbortController();
  changeLevelOnSignal(log, end.signal);
  const levels = Array.from({ length: 5 }, () => {
    process.emit('SIGUSR2');
    return log.level;
  });
  end.abort();
  expect(levels).toEqual(['info', 'debug', 'trace', 'warn', 'info']);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ logLevel: 'info', msg: 'the log level was changed' });
});
