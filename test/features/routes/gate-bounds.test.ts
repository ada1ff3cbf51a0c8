/**
 * The bounds on RouteGates and on the kinds that they name: docs/features/routes.md §2,
 * docs/reference/limits.md.
 */
import { describe, expect, test } from 'vitest';
import type { WorldEntry } from '../../../src/base/digests.ts';
import { limits } from '../../../src/base/limits.ts';
import type { RouteGateDigest } from '../../../src/features/routes/digests.ts';
import { gateOf } from '../../../src/features/routes/gate.ts';
import { gateBounds } from '../../../src/features/routes/gate-bounds.ts';
import { lookAt } from '../../../src/features/routes/gate-look.ts';
import { Groups } from '../../../src/features/routes/groups/groups.ts';
import { createRoutesJoin } from '../../../src/features/routes/routes-join.ts';
import { statusOf, warningsOf } from '../../../src/machines/routegate/routegate-status.ts';
import { gateSpec, pod, service } from '../../actors/harness.ts';

/** A RouteGate; the later its number, the younger it is. */
function gate(n: number, { namespace = 'shop', kind = '' } = {}): WorldEntry {
  const groupResource =
    kind === '' ? null : { apiVersion: 'example.com/v1', kind, require: {}, replicas: null };
  const digest: RouteGateDigest = {
    kind: 'routegates',
    uid: `uid-${namespace}-${n}`,
    resourceVersion: '1',
    createdAt: n,
    deleting: false,
    labels: {},
    generation: 1,
    spec: { ...gateSpec, conditionType: `example.com/c${n}`, groupResource },
  };
  return { resource: 'routegates', namespace, name: `gate-${n}`, digest };
}
const many = (count: number, of: (n: number) => WorldEntry) => Array.from({ length: count }, (_, n) => of(n));
const kinds = (entries: readonly WorldEntry[]) => gateBounds(entries).kinds.map(({ kind }) => kind);

describe('kinds that RouteGates name', () => {
  test('are mirrored up to the bound of a namespace, the oldest first; gates of the others are told why', () => {
    const entries = many(300, (n) => gate(n % 60, { kind: `Kind${n % 60}` })).reverse();
    expect(kinds(entries)).toEqual(['Kind0', 'Kind1', 'Kind2', 'Kind3']);
    expect(limits.groupKindsPerNamespace).toBe(4);
    expect(gateBounds(entries).refusalOf('shop', 'gate-3')).toBeNull();
    expect(gateBounds(entries).refusalOf('shop', 'gate-4')).toMatchObject({ reason: 'TooManyKinds' });
  });

  test('of one tenant leave room for another, and a kind that is named already costs nothing', () => {
    const greedy = many(60, (n) => gate(n, { kind: `Kind${n}` }));
    const [other, shared] = [100, 101].map((n) =>
      gate(n, { namespace: 'bank', kind: n === 100 ? 'Vault' : 'Kind0' }),
    ) as [WorldEntry, WorldEntry];
    expect(kinds([...greedy, other, shared])).toEqual(['Kind0', 'Kind1', 'Kind2', 'Kind3', 'Vault']);
    expect(gateBounds([...greedy, other, shared]).refusalOf('bank', 'gate-101')).toBeNull();
  });

  test('of the whole cluster are bounded, too; who leaves makes room', () => {
    const entries = many(80, (n) => gate(n, { namespace: `ns-${n}`, kind: `Kind${n}` }));
    expect(kinds(entries)).toHaveLength(limits.groupKinds);
    expect(gateBounds(entries).refusalOf('ns-64', 'gate-64')).toMatchObject({ reason: 'TooManyKinds' });
    expect(gateBounds(entries.slice(1)).refusalOf('ns-64', 'gate-64')).toBeNull();
  });
});

describe('RouteGates of a namespace', () => {
  test('are in use up to the bound: a Pod that all of them select has no more actors than that', () => {
    const groups = new Groups();
    const count = limits.routeGatesPerNamespace + 10;
    const entries = many(count, gate);
    for (const { namespace, name, digest } of entries)
      groups.setGate(namespace, name, gateOf(namespace, name, digest));
    const readinessGates = entries.map((_, n) => `example.com/c${n}`);
    groups.setPod('shop', 'web', pod(0, { readinessGates }));
    expect([...groups.members()]).toHaveLength(limits.routeGatesPerNamespace);
    expect(gateBounds(entries).refusalOf('shop', `gate-${count - 1}`)).toMatchObject({
      reason: 'TooManyRouteGates',
    });

    groups.setGate('shop', 'gate-0', null);
    const actors = [...groups.members()];
    expect(actors).toHaveLength(limits.routeGatesPerNamespace);
    expect(actors.some((id) => id.endsWith(`@gate-${limits.routeGatesPerNamespace}`))).toBe(true);
  });

  test('beyond it say so in their condition', () => {
    const refusal = { reason: 'TooManyRouteGates', message: 'not in use' } as const;
    const findings = lookAt(gateSpec, { pods: [pod(0)], groups: [], isComplete: true, refusal });
    const status = statusOf({ uid: 'gate', generation: 1, invalid: null, stirred: '' }, findings, 0);
    expect(status).toMatchObject({ counts: { pods: 0 }, valid: { status: 'False', ...refusal } });
    expect(warningsOf(status, findings)).toEqual([{ status: 'False', ...refusal }]);
  });
});

test('the kind of the groups’ owner is told as unlisted if nothing else is', () => {
  const owned = gate(1, { kind: 'Shop' });
  const version = gateOf('shop', 'gate-1', owned.digest)?.version ?? '';
  const unlisted = (...listed: readonly string[]) => {
    const statement = (resource: string) =>
      listed.includes(resource) ? ({ kind: 'synced', gates: [version], resource } as const) : null;
    const join = createRoutesJoin({ world: { get: () => null, statement }, clusterDomain: () => '' });
    join.fold(owned, null);
    return join.unlistedOwner('shop', 'gate-1');
  };
  const own = ['routegates', 'pods', 'services', 'endpointslices'];
  expect(unlisted(...own)).toBe('example.com/v1/Shop');
  expect(unlisted(...own.slice(1))).toBeNull();
  expect(unlisted(...own, 'example.com/v1/Shop')).toBeNull();
});

test('a Pod of a group with too many Services hears just that, so nothing lets it go (docs/features/routes.md §2.12)', () => {
  const version = gateOf('shop', 'gate-1', gate(1).digest)?.version ?? '';
  const world = {
    get: () => null,
    statement: () => ({ kind: 'synced', gates: [version], resource: null }) as const,
  };
  const join = createRoutesJoin({ world, clusterDomain: () => 'cluster.local' });
  join.fold(gate(1), null);
  join.fold({ resource: 'pods', namespace: 'shop', name: 'web', digest: pod(0) }, null);
  const add = (n: number) =>
    join.fold({ resource: 'services', namespace: 'shop', name: `svc-${n}`, digest: service(n) }, null);
  for (let n = 0; n < limits.groupServices; n++) add(n);
  expect(join.observe('pod', 'shop', 'web')).toMatchObject({ type: 'pod.observed' });
  add(limits.groupServices);
  expect(join.observe('pod', 'shop', 'web')).toMatchObject({
    facts: {
      ...{ groupResource: 'missing', services: {} },
      refused: { reason: 'TooManyServices', message: expect.stringContaining('more than 500 Services') },
    },
  });
  expect(join.observe('service', 'shop', 'svc-0')).toBeNull();
});
