/** Host names: one form for each, and which of them an Issuer's patterns allow. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { allows, hostLabel, readHost, readPattern } from '../../../src/features/certificates/hosts.ts';
import { secretNameOf } from '../../../src/machines/domain/domain-facts.ts';

test.each([
  ['App.Example.COM', 'app.example.com'],
  ['app.example.com.', 'app.example.com'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['*.Example.com', '*.example.com'],
  ['localhost', 'localhost'],
  [' app.example.com ', 'app.example.com'],
])('%s is %s', (text, host) => {
  expect(readHost(text)).toBe(host);
});

test.each([
  '',
  '.',
  '*',
  '*.',
  'a b',
  'not_a_host',
  '10.0.0.1',
  '[::1]',
  '::1',
  'a..b',
  '-a.example',
  'a.*.example',
  '**.example.com',
  'app.example.com:443',
  'https://app.example.com',
  'app.example.com/path',
  'app.example.com?x',
  'me@app.example.com',
  'app%2eexample.com',
  `${'a'.repeat(64)}.example`,
  `${'a.'.repeat(130)}example`,
  '1.2.3',
])('%j is no host', (text) => {
  expect(readHost(text)).toHaveProperty('invalid');
});

test.each([
  ['example.com', 'example.com', true],
  ['example.com', 'app.example.com', false],
  ['*.example.com', 'app.example.com', true],
  ['*.example.com', 'a.b.example.com', false],
  ['*.example.com', 'example.com', false],
  ['**.example.com', 'a.b.example.com', true],
  ['**.example.com', 'app.example.com', true],
  ['**.example.com', 'example.com', false],
  ['*.example.com', '*.example.com', true],
  ['app.*.example.com', 'app.eu.example.com', true],
  ['**', 'anything.at.all', true],
  ['*', 'anything.at.all', false],
  ['Example.COM', 'example.com', true],
])('%s on %s: %s', (pattern, host, allowed) => {
  expect(allows(String(readPattern(pattern)), host)).toBe(allowed);
});

test.each(['', 'a b', '*.*x.com', '10.0.0.1', 'a/b'])('%j is no pattern', (text) => {
  expect(readPattern(text)).toHaveProperty('invalid');
});

test('every host has a label that Kubernetes takes, and no two the same', () => {
  const hosts = fc.array(fc.constantFrom('a', 'b1', 'long-label-of-some-length', 'x'.repeat(63)), {
    minLength: 1,
    maxLength: 4,
  });
  const label = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
  fc.assert(
    fc.property(hosts, hosts, fc.boolean(), (one, other, isWild) => {
      const host = `${isWild ? '*.' : ''}${one.join('.')}`;
      expect(hostLabel(host)).toMatch(label);
      if (host !== other.join('.')) expect(hostLabel(host)).not.toBe(hostLabel(other.join('.')));
    }),
  );
  expect(hostLabel('app.example.com')).toBe('app.example.com');
  expect(hostLabel('*.example.com')).toMatch(/^wildcard\.example\.com-[0-9a-f]{16}$/);
});

test('a Secret has a legal name, for a wildcard too', () => {
  expect(secretNameOf('app.example.com')).toBe('app.example.com');
  expect(secretNameOf('*.example.com')).toBe('wildcard.example.com');
  const long = `*.${`${'a'.repeat(48)}.`.repeat(4)}${'b'.repeat(43)}.example.com`;
  expect(long).toHaveLength(253);
  expect(secretNameOf(long)).toHaveLength(253);
  // Where the end begins with a dot, it is left out.
  expect(secretNameOf(`*.${'a'.repeat(7)}.${long.slice(10)}`)).toBe(`wildcard.${long.slice(10)}`);
});

test('no pattern keeps the process busy, however many ** it has', () => {
  const host = `${'a.'.repeat(120)}example`;
  const before = process.cpuUsage();
  for (const stars of [5, 20, 60]) {
    expect(allows(`${'**.'.repeat(stars)}b`, host)).toBe(false);
    expect(allows(`${'**.'.repeat(stars)}example`, host)).toBe(true);
  }
  // Processor time, which others on the machine do not lengthen.
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(1_000);
});

test('** stands for one label or more, wherever it is', () => {
  expect(allows('**.example', 'example')).toBe(false);
  expect(allows('**.example', 'a.example')).toBe(true);
  expect(allows('a.**.**.z', 'a.b.z')).toBe(false);
  expect(allows('a.**.**.z', 'a.b.c.z')).toBe(true);
  expect(allows('**.b.**', 'a.b.c')).toBe(true);
  expect(allows('**.b.**', 'b.c')).toBe(false);
  expect(allows('**', 'a.b.c')).toBe(true);
});
