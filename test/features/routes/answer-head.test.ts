/** The heads of answers, as senders of every kind write them. */
import { expect, test } from 'vitest';
import { isBodyWhole, readHead } from '../../../src/features/routes/probe/answer-head.ts';

const head = (...lines: string[]) => `${lines.join('\r\n')}\r\n\r\n`;
const read = (text: string) => {
  const reading = readHead(text);
  return typeof reading === 'string' ? reading : { ...reading, headers: Object.fromEntries(reading.headers) };
};

test('a head is its status and its headers, whatever their case and the blanks around their values', () => {
  const text = head('HTTP/1.1 200 OK', 'Pod-IPv4: \t10.0.0.1 \t', 'X-Empty:', "!#$%&'*+.^_`|~: ~");
  const headers = { 'pod-ipv4': '10.0.0.1', 'x-empty': '', "!#$%&'*+.^_`|~": '~' };
  expect(read(`${text}body`)).toEqual({ status: 200, headers, bodyAt: text.length });
  expect(read(head('HTTP/1.0 503'))).toMatchObject({ status: 503, headers: {} });
});

test('headers of one name are one list', () => {
  const text = head('HTTP/1.1 200 OK', 'Pod-IPv4: 10.0.0.1', 'pod-ipv4: 10.0.0.2');
  expect(read(text)).toMatchObject({ headers: { 'pod-ipv4': '10.0.0.1, 10.0.0.2' } });
});

test('interim answers are none', () => {
  const early = head('HTTP/1.1 103 Early Hints', 'Pod-IPv4: 10.0.0.1');
  expect(read(early)).toBe('unfinished');
  const text = early + head('HTTP/1.1 100 Continue') + head('HTTP/1.1 404 Not Found');
  expect(read(text)).toEqual({ status: 404, headers: {}, bodyAt: text.length });
});

test.each(['', 'HTTP/1.1 200 OK', 'HTTP/1.1 200 OK\r\n', 'HTTP/1.1 200 OK\r\nPod-IPv4: 10.0.0.1\r\n'])(
  '%j is not finished',
  (text) => expect(read(text)).toBe('unfinished'),
);

test.each([
  'HTTP/2 200 OK',
  'HTTP/1.2 200 OK',
  'http/1.1 200 OK',
  'HTTP/1.1 20 OK',
  'HTTP/1.1 2000 OK',
  'HTTP/1.1 099 OK',
  ' HTTP/1.1 200 OK',
  'HTTP/1.1 200 O\0K',
  'SSH-2.0-OpenSSH_9.2',
  '\r\nHTTP/1.1 200 OK',
  'HTTP/1.1 200 OK\r\nPod-IPv4 : 10.0.0.1',
  'HTTP/1.1 200 OK\r\n Pod-IPv4: 10.0.0.1',
  'HTTP/1.1 200 OK\r\nX: a\r\n b',
  'HTTP/1.1 200 OK\r\nPod-IPv4',
  'HTTP/1.1 200 OK\r\n: 10.0.0.1',
  'HTTP/1.1 200 OK\r\nX: a\nPod-IPv4: 10.0.0.1',
  'HTTP/1.1 200 OK\r\nX: a\rPod-IPv4: 10.0.0.1',
  'HTTP/1.1 200 OK\r\nX: \0',
  'HTTP/1.1 200 OK\nPod-IPv4: 10.0.0.1',
])('%j is no head', (text) => expect(read(`${text}\r\n\r\n`)).toBe('malformed'));

test.each([
  [head('HTTP/1.1 200 OK', 'Content-Length: 3'), 'ok', false],
  [head('HTTP/1.1 200 OK', 'Content-Length: 3'), 'ok\n', true],
  [head('HTTP/1.1 200 OK', 'Content-Length: x'), 'ok\n', false],
  [head('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked'), '3\r\nok\n\r\n', false],
  [head('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked'), '3\r\nok\n\r\n0\r\n\r\n', true],
  [head('HTTP/1.1 200 OK'), 'ok\n', false],
  [head('HTTP/1.1 204 No Content'), '', true],
])('after %j the body %j: whole %j', (start, body, isWhole) => {
  const reading = readHead(start + body);
  expect(typeof reading !== 'string' && isBodyWhole(reading, start + body)).toBe(isWhole);
});
