/** A message leaves as one piece, in the protocol's form; whatever is not legal is left to the library. */
import { expect, test } from 'vitest';
import { type Publish, publisher } from '../../../src/bus/nats/wire-publish.ts';

const data = new TextEncoder().encode('{"a":1}');

function played(inside: object = {}) {
  const pieces: string[] = [];
  const left: string[] = [];
  const protocol = {
    info: { max_payload: 64, headers: true },
    noMorePublishing: false,
    isClosed: () => false,
    sendCommand: (piece: Uint8Array) => pieces.push(new TextDecoder().decode(piece)),
    ...inside,
  };
  const byLibrary: Publish = (subject) => left.push(subject);
  return { pieces, left, publish: publisher({ protocol }, byLibrary) };
}

test('with and without headers and a place for the answer', () => {
  const { pieces, left, publish } = played();
  publish('a.b', data);
  publish('a.b', data, undefined, 'inbox.1');
  publish('a.b', data, { Name: 'ü' }, 'inbox.1');
  publish('a.b', new Uint8Array(0), { Name: 'x' });
  const block = 'NATS/1.0\r\nName: ü\r\n\r\n';
  expect(pieces).toEqual([
    'PUB a.b 7\r\n{"a":1}\r\n',
    'PUB a.b inbox.1 7\r\n{"a":1}\r\n',
    `HPUB a.b inbox.1 22 29\r\n${block}{"a":1}\r\n`,
    'HPUB a.b 21 21\r\nNATS/1.0\r\nName: x\r\n\r\n\r\n',
  ]);
  expect(left).toEqual([]);
});

test('what the protocol does not allow, or the server does not take, is left to the library', () => {
  const { pieces, left, publish } = played();
  publish('', data);
  publish('a b', data);
  publish('a\r\nPUB b 0', data);
  publish('reply', data, undefined, 'in box');
  publish('large', new Uint8Array(65));
  expect([pieces, left]).toEqual([[], ['', 'a b', 'a\r\nPUB b 0', 'reply', 'large']]);
  expect(() => publish('a', data, { Name: 'x\r\ny' })).toThrow('illegal header');
});

test.each([
  ['a closed connection', { isClosed: () => true }],
  ['a connection that is ending', { noMorePublishing: true }],
  ['a server that was not heard yet', { info: undefined }],
  ['another library inside', { sendCommand: undefined }],
])('%s is left to the library', (_, inside) => {
  const { pieces, left, publish } = played(inside);
  publish('a', data);
  expect([pieces, left]).toEqual([[], ['a']]);
});
