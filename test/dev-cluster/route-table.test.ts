/** What the routing knows and when, on a virtual clock. */
import { beforeEach, describe, expect, test } from 'vitest';
import {
  createRouteTable,
  type RouteChange,
  type RouteTable,
  type Target,
  targetsOf,
} from '../../packages/dev-cluster/network/route-table.ts';
import { VirtualClock } from '../virtual-clock.ts';

let clock: VirtualClock;
let changes: RouteChange[];
let table: RouteTable;
const target = (address: string, state: Target['state'] = 'ready', portName = 'http'): Target => ({
  portName,
  address,
  port: 8080,
  state,
});
const known = (portName = 'http') => table.targets(portName).map(({ address }) => address);

beforeEach(() => {
  clock = new VirtualClock();
  changes = [];
  table = createRouteTable({
    clock,
    delayMs: (kind) => (kind === 'add' ? 1_000 : 300),
    onChange: (news) => changes.push(...news),
  });
});

describe('a change', () => {
  test('is known after its delay, not sooner', async () => {
    table.want([target('a')], false);
    await clock.advance(999);
    expect(known()).toEqual([]);
    await clock.advance(1);
    expect(known()).toEqual(['a']);
    expect(changes).toEqual([{ type: 'programmed', address: 'a' }]);
  });

  test('of removal is known after its own delay', async () => {
    table.want([target('a'), target('b')], true);
    await clock.advance(0);
    table.want([target('b')], false);
    await clock.advance(299);
    expect(known()).toEqual(['a', 'b']);
    await clock.advance(1);
    expect(known()).toEqual(['b']);
    expect(changes.at(-1)).toEqual({ type: 'withdrawn', address: 'a' });
  });

  test('that is taken back in time is never known', async () => {
    table.want([target('a')], false);
    await clock.advance(500);
    table.want([], false);
    await clock.advance(10_000);
    expect(known()).toEqual([]);
    expect(changes).toEqual([]);
  });

  test('that was seen twice is not put off by the second time', async () => {
    table.want([target('a')], false);
    await clock.advance(600);
    table.want([target('a'), target('b')], false);
    await clock.advance(400);
    expect(known()).toEqual(['a']);
  });

  test('of an address with several ports is told once, when all of them are known', async () => {
    table.want([target('a'), target('a', 'ready', 'health')], false);
    await clock.advance(1_000);
    expect(changes).toEqual([{ type: 'programmed', address: 'a' }]);
    table.want([], false);
    await clock.advance(300);
    expect(changes).toHaveLength(2);
  });
});

test('a draining target is used only while none is ready', async () => {
  table.want([target('a', 'draining'), target('b')], true);
  await clock.advance(0);
  expect(known()).toEqual(['b']);
  table.want([target('a', 'draining')], false);
  await clock.advance(300);
  expect(known()).toEqual(['a']);
});

test('stop leaves no timer', () => {
  table.want([target('a')], false);
  table.stop();
  expect(clock.pending).toBe(0);
});

describe('targets of slices', () => {
  const slice = (endpoints: object[], ports: object[] = [{ name: 'http', port: 8080, protocol: 'TCP' }]) => ({
    metadata: { name: 's' },
    endpoints: endpoints.map((endpoint) => ({ addresses: ['a'], ...endpoint })),
    ports: ports.map((port) => ({ port: 8080, ...port })),
  });

  test.each([
    [{ ready: true }, 'ready'],
    [{}, 'ready'],
    [{ ready: false, serving: true, terminating: true }, 'draining'],
    [{ ready: false, serving: false, terminating: true }, undefined],
    [{ ready: false, serving: true, terminating: false }, undefined],
  ])('%j is %s', (conditions, state) => {
    expect(targetsOf([slice([{ conditions }])])[0]?.state).toBe(state);
  });

  test('ready in one slice is ready', () => {
    const ready = slice([{ conditions: { ready: true } }]);
    const other = slice([{ conditions: { ready: false, serving: true, terminating: true } }]);
    expect(targetsOf([ready, other])).toEqual(targetsOf([other, ready]));
    expect(targetsOf([other, ready])).toMatchObject([{ state: 'ready' }]);
  });

  test('ports other than TCP are left out', () => {
    expect(targetsOf([slice([{}], [{ name: 'dns', protocol: 'UDP' }])])).toEqual([]);
  });
});
