/** Failures of the operating system are told in words: somebody who reads only them knows what is wrong. */
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { inPlainWords, OrreryError } from '../../src/base/errors.ts';
import { nobodyAnswers, notPermitted, unanswered, unreachable } from '../../src/bus/bus-errors.ts';
import { noAnswer, unknownIfUnanswered } from '../../src/cli/no-answer.ts';
import { inThisProcess } from './command.ts';

test.each([
  [
    'https://a cannot be reached: connect ECONNREFUSED 127.0.0.1:1',
    'https://a cannot be reached: connection refused',
  ],
  ['getaddrinfo ENOTFOUND orrery.example', 'the name orrery.example does not exist'],
  ['getaddrinfo EAI_AGAIN a.b', 'the name a.b cannot be looked up: no name server answers'],
  ['read ECONNRESET', 'the connection was cut'],
  ['listen EADDRINUSE: address already in use 127.0.0.1:7070', 'port 7070 of 127.0.0.1 is taken'],
  [
    'listen EADDRNOTAVAIL: address not available 10.9.9.9:8080',
    'this machine does not have the address 10.9.9.9',
  ],
  [
    "a cannot be read: ENOENT: no such file or directory, open 'a'",
    'a cannot be read: there is no such file',
  ],
  [
    'write EPROTO 40ED:error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:../x.c:77:\n',
    'it speaks no TLS: is it http:// instead of https://?',
  ],
  ['what nobody translates', 'what nobody translates'],
])('%s', (message, words) => expect(inPlainWords(message)).toBe(words));

test('a server that is not there, and a file that is not there', async () => {
  const closed = createServer();
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
  const { port } = closed.address() as AddressInfo;
  await new Promise((resolve) => closed.close(resolve));
  const server = `https://127.0.0.1:${port}`;
  const asked = await inThisProcess(['get', '--server', server], { ORRERY_TOKEN: 'x' }, tmpdir());
  expect(asked).toMatchObject({ code: 1, err: `error: ${server} cannot be reached: connection refused\n` });
  const replayed = await inThisProcess(['replay', 'no-such-file'], {}, tmpdir());
  expect(replayed).toMatchObject({
    code: 1,
    err: 'error: no-such-file cannot be read: there is no such file\n',
  });
});

const asked = { cluster: 'shop', where: 'nats://a' };
const own = new OrreryError('BUS_UNREACHABLE', 'the event stream did not answer in time', {
  facts: { told: true },
});
test.each([
  [
    'where none listens',
    nobodyAnswers('x'),
    'no replica of cluster "shop" answers at nats://a: does one run',
  ],
  ['where one listens', unanswered('x'), 'replicas of cluster "shop" listen at nats://a, and none answered'],
  ['of a replica, in its own words', own, 'the event stream did not answer in time'],
  [
    'of a connection that was lost',
    unreachable('disconnected'),
    'no answer over NATS: disconnected, at nats',
  ],
  ['that NATS does not permit', notPermitted('x'), 'NATS does not let this user publish on x'],
])('a failure %s is told as what it is', (_, error, words) =>
  expect(noAnswer(error, asked, []).message).toMatch(words),
);

test('of a message that nobody answered it is said that it may have arrived; of one that nobody heard not', () => {
  const failed = unknownIfUnanswered('pod/shop/web-0', 'pod.recheck');
  expect(() => failed(unanswered('x'))).toThrow(
    /whether pod\/shop\/web-0 took pod.recheck is not known: "orrery events pod\/shop\/web-0" shows/,
  );
  expect(() => failed(nobodyAnswers('x'))).toThrow(/nobody answers x/);
});
