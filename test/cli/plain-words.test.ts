/** Failures of the operating system are told in words: somebody who reads only them knows what is wrong. */
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { inPlainWords } from '../../src/base/errors.ts';
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
