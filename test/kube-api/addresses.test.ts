/** Networks, address pools, and ranges that are one cluster's alone. */
import { describe, expect, test } from 'vitest';
import { parseDurationMs, parseDurationRange } from '../../packages/dev-cluster/scenarios/durations.ts';
import {
  claimRange,
  createAddressPool,
  isLoopback,
  parseNetwork,
  socketAddress,
} from '../../packages/kube-api/socket-addresses.ts';

test('an advertised address leads to the loopback address with the same last bytes', () => {
  expect(socketAddress('10.80.3.7')).toBe('127.80.3.7');
  expect(socketAddress('127.80.3.7')).toBe('127.80.3.7');
  expect([isLoopback('127.96.0.1'), isLoopback('10.96.0.1'), isLoopback('None')]).toEqual([
    true,
    false,
    false,
  ]);
});

describe('a network', () => {
  test('contains its addresses and no other', () => {
    const network = parseNetwork('127.80.0.0/16');
    expect(['127.80.0.0', '127.80.255.255'].every(network.contains)).toBe(true);
    expect(['127.81.0.0', '10.80.0.1', 'none', '127.80.0.256', ''].some(network.contains)).toBe(false);
    expect(network.at(258)).toBe('127.80.1.2');
  });

  test.each(['127.80.0.0', '127.80.0.0/33', '300.0.0.0/16', 'fd00::/64', ''])('%j is refused', (text) => {
    expect(() => parseNetwork(text)).toThrow(/is no IPv4 network/);
  });
});

describe('a pool', () => {
  const pool = () => createAddressPool(parseNetwork('127.80.0.0/29'));

  test('never gives an address twice, and says when there is none left', () => {
    const from = pool();
    const taken = Array.from({ length: 5 }, () => from.take());
    expect(new Set(taken).size).toBe(5);
    expect(taken.some((ip) => ['127.80.0.0', '127.80.0.1', '127.80.0.7'].includes(ip))).toBe(false);
    expect(() => from.take()).toThrow(/no address left/);
  });

  test('gives an address that came back last', () => {
    const from = pool();
    const first = from.take();
    from.giveBack(first);
    expect(Array.from({ length: 5 }, () => from.take()).at(-1)).toBe(first);
  });

  test('takes over addresses of its network once', () => {
    const from = pool();
    expect([from.adopt('127.80.0.2'), from.adopt('127.80.0.2'), from.adopt('10.0.0.1')]).toEqual([
      true,
      false,
      false,
    ]);
    expect(from.take()).toBe('127.80.0.3');
  });
});

test('two clusters on one machine have different ranges, and a released one can be had again', async () => {
  const first = await claimRange();
  const second = await claimRange();
  expect(first.podCidr).not.toBe(second.podCidr);
  expect(first.serviceCidr).not.toBe(second.serviceCidr);
  await Promise.all([first.release(), second.release()]);
});

describe('durations', () => {
  test.each([
    ['800ms', 800],
    ['1.5s', 1_500],
    ['2m', 120_000],
  ])('%s is %i ms', (text, ms) => {
    expect(parseDurationMs(text)).toBe(ms);
  });

  test('a range has both ends', () => {
    expect(parseDurationRange('200ms-3s')).toEqual({ minMs: 200, maxMs: 3_000 });
    expect(parseDurationRange('1s')).toEqual({ minMs: 1_000, maxMs: 1_000 });
  });

  test.each(['', 'soon', '5', '3s-1s', '-1s'])('%j is refused', (text) => {
    expect(() => parseDurationRange(text)).toThrow(/duration/);
  });
});
