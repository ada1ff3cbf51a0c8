/** What the status of a RouteGate says of its Pods. */
import { describe, expect, test } from 'vitest';
import { limits } from '../../../src/base/limits.ts';
import type { PodDigest, ServiceDigest } from '../../../src/features/routes/digests.ts';
import { lookAt } from '../../../src/features/routes/gate-look.ts';
import type { Group } from '../../../src/features/routes/groups/groups.ts';
import { statusOf as judged, warningsOf } from '../../../src/machines/routegate/routegate-status.ts';
import { gateSpec, pod } from '../../actors/harness.ts';

const facts = { uid: 'gate-uid', generation: 4, invalid: null, stirred: '' };
const ready = { conditions: { 'example.com/routes': 'True' } } as const;

const service = (change: Partial<ServiceDigest> = {}): ServiceDigest => ({
  kind: 'services',
  uid: 'service-uid',
  resourceVersion: '1',
  createdAt: 0,
  deleting: false,
  labels: {},
  clusterIPs: [{ ip: '10.1.0.1', family: 'IPv4' }],
  ports: [{ name: gateSpec.probe.portName, port: 80, protocol: 'TCP' }],
  ...change,
});
const named = <T>(prefix: string, all: readonly T[]) => new Map(all.map((one, n) => [`${prefix}-${n}`, one]));

const groupOf = (pods: readonly PodDigest[], services = [service()]): Group => ({
  key: 'shop/gate/1/one',
  gate: { namespace: 'shop', name: 'gate', version: '1', createdAt: 0, spec: gateSpec },
  value: 'one',
  pods: named('web', pods),
  services: named('svc', services),
  podsSum: 0,
  podsSince: new Map(),
  nodeAddresses: new Map(),
  ended: pods.filter(({ finished }) => finished === true).length,
});

/** The look at these Pods and Services, and what the status says of it. */
function statusOf(
  pods: PodDigest[],
  held: PodDigest[] = pods,
  services = [service()],
  {
    isComplete = true,
    ...about
  }: Partial<
    Pick<
      Parameters<typeof lookAt>[1],
      'isComplete' | 'unlistedOwner' | 'unservedOwner' | 'isForeign' | 'typesInUse'
    >
  > = {},
) {
  const groups = [groupOf(held, services)];
  const findings = lookAt(gateSpec, { pods, groups, isComplete, ...about });
  const status = judged(facts, findings, 60_000);
  return { ...status.counts, ...status, warnings: warningsOf(status, findings) };
}

test('counts gated Pods, those that wait and those that are ready, and tells the longest wait', () => {
  const pods = [pod(0, ready), pod(1, { createdAt: 20_000 }), pod(2, { createdAt: 45_500 })];
  expect(statusOf(pods)).toMatchObject({
    pods: 3,
    ready: 1,
    waiting: 2,
    longestWaitSeconds: 40,
    longestWaiting: 'web-1',
    observedGeneration: 4,
  });
});

test('a Pod that lost its route waits since then, however old it is', () => {
  const lost = { 'example.com/routes': 50_000 };
  expect(statusOf([pod(0, { lostAt: lost }), pod(1, { createdAt: 20_000 })])).toMatchObject({
    longestWaitSeconds: 40,
    longestWaiting: 'web-1',
  });
  expect(statusOf([pod(0, { lostAt: lost })])).toMatchObject({ longestWaitSeconds: 10 });
});

test('a Pod without the gate and one that is being deleted wait for nothing', () => {
  const pods = [pod(0, { readinessGates: [] }), pod(1, { deleting: true })];
  expect(statusOf(pods)).toMatchObject({ pods: 0, waiting: 0, longestWaitSeconds: 0 });
});

test('Pods that an older RouteGate holds are told', () => {
  expect(statusOf([pod(0), pod(1)], [pod(0)]).valid).toMatchObject({
    status: 'True',
    reason: 'Overlaps',
    message: '1 of the selected Pods are held by an older RouteGate of the same condition type',
  });
});

const reasoned = (reason: string) =>
  ({ conditions: { 'example.com/routes': 'True' }, reasons: { 'example.com/routes': reason } }) as const;

describe('docs/features/routes.md §2: who is counted', () => {
  test('a Pod that does not list the condition type is ungated, and a Warning says so', () => {
    const status = statusOf([pod(0), pod(1, { readinessGates: [] })], [pod(0)]);
    expect(status).toMatchObject({ pods: 1, ungated: 1, valid: { reason: 'InUse' } });
    expect(status.warnings).toMatchObject([
      { reason: 'PodsUngated', message: expect.stringContaining('1 of the') },
    ]);
  });

  test('a Pod that has ended waits for nothing', () => {
    expect(statusOf([pod(0, { finished: true })])).toMatchObject({ pods: 0, waiting: 0, ungated: 0 });
  });

  test('Pods are counted by whether anything was verified for them', () => {
    const pods = [
      pod(0, reasoned('RoutesVerified')),
      pod(1, reasoned('Unverified')),
      pod(2, reasoned('NothingToVerify')),
    ];
    expect(statusOf(pods)).toMatchObject({ ready: 3, verified: 1, unverified: 2 });
  });
});

describe('§2.7: “A Pod whose owner does not match `require` is not held by this gate”', () => {
  const foreign = { isForeign: (group: string) => group === 'one' };

  test('it is not counted, neither as waiting nor as ungated, and nothing is told of its group', () => {
    const pods = [pod(0), pod(1, { readinessGates: [] })];
    const { warnings, verifying, ...status } = statusOf(pods, pods, [], foreign);
    expect(status).toMatchObject({ pods: 0, waiting: 0, ungated: 0, longestWaiting: null });
    expect(status.valid.reason).toBe('InUse');
    expect(warnings).toEqual([]);
    expect(verifying.message).toContain('no Service');
  });

  test.each<[string, ServiceDigest[]]>([
    ['cannot be probed', [service({ ports: [] })]],
    ['waits for its Pods', [service({ routing: { readyOnly: pod(0).labels } })]],
    ['is one of too many', Array.from({ length: limits.groupServices + 1 }, () => service())],
  ])('a Service of its group that %s is no trouble', (_, services) => {
    expect(statusOf([pod(0)], [pod(0)], services, foreign).warnings).toEqual([]);
  });
});

test('a group needs a Service only while a Pod of it is held', () => {
  const needy = (change: Partial<PodDigest>) => {
    const groups = [groupOf([pod(0)]), { ...groupOf([pod(1, change)], []), value: 'two' }];
    return lookAt(gateSpec, { pods: [], groups, isComplete: true }).emptyGroups.names;
  };
  expect(needy({})).toEqual(['two']);
  expect(needy({ finished: true })).toEqual([]);
  expect(needy({ deleting: true })).toEqual([]);
  expect(needy({ readinessGates: [] })).toEqual([]);
});

describe('docs/features/routes.md §5.4: what is not verified is told on the gate', () => {
  test.each<[string, PodDigest[], ServiceDigest[], string]>([
    ['NothingToVerify', [pod(0)], [], 'no Service has the labels'],
    [
      'PortMissing',
      [pod(0)],
      [service(), service({ ports: [] })],
      '1 of 2 Services cannot be probed: svc-1 has no port named',
    ],
    [
      'PortMissing',
      [pod(0)],
      [service({ ports: [{ name: gateSpec.probe.portName, port: 53, protocol: 'UDP' }] })],
      'svc-0 has no TCP port named',
    ],
    ['Unverified', [pod(0, reasoned('Unverified'))], [service()], '1 Pods became Ready although'],
    [
      'Deadlock',
      [pod(0)],
      [service({ routing: { affine: true } }), service({ routing: { local: true } })],
      'svc-1: with internal',
    ],
  ])('Verifying is False: %s', (reason, pods, services, message) => {
    expect(statusOf(pods, pods, services).verifying).toMatchObject({
      status: 'False',
      reason,
      message: expect.stringContaining(message),
    });
  });

  test('no Warning is made of a gate that is created before its Services and Pods: it says so, and no more', () => {
    expect(statusOf([], [], [])).toMatchObject({ verifying: { reason: 'NothingToVerify' }, warnings: [] });
    expect(statusOf([pod(0)], [pod(0)], []).warnings).toMatchObject([{ reason: 'NothingToVerify' }]);
  });

  test('it is True while Services are asked, and unknown until everything was listed', () => {
    expect(statusOf([pod(0)]).verifying.status).toBe('True');
    const { verifying } = statusOf([pod(0)], [pod(0)], [], { isComplete: false });
    expect(verifying).toMatchObject({ status: 'Unknown', reason: 'NotListed' });
  });

  test('an owner’s kind that alone is not listed is named, with the right that may be missing, in a Warning as well', () => {
    const unlisted = { isComplete: false, unlistedOwner: 'v1/ConfigMap' };
    const { verifying, warnings } = statusOf([pod(0)], [pod(0)], [service()], unlisted);
    expect(verifying).toMatchObject({
      status: 'Unknown',
      reason: 'NotListed',
      message: expect.stringMatching(/^v1\/ConfigMap, .*aggregate-to-group-resources/),
    });
    expect(warnings).toEqual([{ status: 'Unknown', reason: 'NotListed', message: verifying.message }]);
  });
});

describe('docs/features/routes.md §7.4: “Each deadlock … is a Warning on the gate that says what to change”', () => {
  const own = { readyOnly: pod(0).labels };
  test.each<[string, ServiceDigest['routing'], number, string]>([
    ['a Service that publishes Ready Pods alone', own, 1, 'publishNotReadyAddresses: true'],
    ['session affinity', { affine: true }, 2, 'remove the affinity'],
    ['a local traffic policy', { local: true }, 1, 'remove the policy'],
  ])('%s', (_, routing, count, text) => {
    const pods = Array.from({ length: count }, (__, n) => pod(n));
    const { warnings } = statusOf(pods, pods, [service(routing === undefined ? {} : { routing })]);
    expect(warnings).toMatchObject([
      { reason: 'Deadlock', message: expect.stringMatching(new RegExp(`^svc-0: .*${text}`)) },
    ]);
  });

  test('a Pod that has ended counts for no deadlock: affinity hinders nobody who serves alone', () => {
    const pods = [pod(0), pod(1, { finished: true })];
    expect(statusOf(pods, pods, [service({ routing: { affine: true } })]).warnings).toEqual([]);
    const ended = [pod(1, { finished: true })];
    expect(statusOf(ended, ended, [service({ routing: { readyOnly: own.readyOnly } })]).warnings).toEqual([]);
  });

  test('a Service that publishes Ready Pods alone, but others than those of the gate, holds up nobody', () => {
    expect(
      statusOf([pod(0)], [pod(0)], [service({ routing: { readyOnly: { app: 'other' } } })]).warnings,
    ).toEqual([]);
  });
});

describe('a group that is beyond a bound', () => {
  const many = <T>(count: number, of: (n: number) => T) => Array.from({ length: count }, (_, n) => of(n));

  test('of Services verifies nothing, and says so', () => {
    const services = many(limits.groupServices + 1, () => service());
    expect(statusOf([pod(0)], [pod(0)], services).verifying).toMatchObject({
      status: 'False',
      reason: 'TooManyServices',
    });
    expect(statusOf([pod(0)], [pod(0)], services.slice(1)).verifying).toMatchObject({ status: 'True' });
  });

  test('of Pods is told that they take turns', () => {
    const pods = many(2_000, (n) => pod(n));
    expect(statusOf(pods).warnings).toMatchObject([
      { reason: 'GroupTooLarge', message: expect.stringContaining('2000 Pods') },
    ]);
    expect(statusOf(pods.slice(0, 500)).warnings).toEqual([]);
  });
});

test('a kind of owner that the cluster does not have is told before any Pod waits for it', () => {
  const { verifying, warnings } = statusOf([], [], [service()], { unservedOwner: 'example.com/v1/Owner' });
  expect(verifying).toMatchObject({ status: 'False', reason: 'NoSuchKind' });
  expect(verifying.message).toContain('the cluster has no kind example.com/v1/Owner');
  expect(warnings).toEqual([expect.objectContaining({ reason: 'NoSuchKind' })]);
});

describe('docs/features/routes.md §7.15: a condition type that no RouteGate has any more', () => {
  const [former, present] = ['example.com/former', gateSpec.conditionType];
  const typesInUse = new Set([present]);
  const old = (n: number, change: Partial<PodDigest> = {}) => pod(n, { readinessGates: [former], ...change });
  const opened = { conditions: { [former]: 'True' }, reasons: { [former]: 'RoutesVerified' } } as const;
  const toldOf = (...pods: PodDigest[]) =>
    statusOf(pods, [], [service()], { typesInUse }).warnings.filter(
      ({ reason }) => reason === 'ConditionTypeGone',
    );

  test('is told with what to change, before the first Pod waits for it in vain', () => {
    expect(toldOf(old(0, opened))).toMatchObject([
      { message: expect.stringMatching(`^1 of .* list ${former} .*They stay Ready, .*; put ${present} in`) },
    ]);
  });

  test('is known of new Pods of the old template, which have no such condition, by what older Pods say', () => {
    const held = { conditions: { [former]: 'False' }, heldBack: [former] } as const;
    expect(toldOf(old(0, held), old(1))).toMatchObject([
      { message: expect.stringMatching('^2 of .* 2 of them wait for it for ever') },
    ]);
    expect(toldOf(pod(0, { readinessGates: [present, former], ...opened }), old(1))).toMatchObject([
      { message: expect.stringMatching('1 of them wait') },
    ]);
  });

  test.each([
    [
      'is another controller’s',
      old(0, { conditions: { [former]: 'True' }, reasons: { [former]: 'Healthy' } }),
    ],
    [
      'another RouteGate of the namespace has',
      pod(0, { conditions: { [present]: 'False' }, heldBack: [present] }),
    ],
    ['a Pod that has ended lists', old(0, { ...opened, finished: true })],
  ])('one that %s is not told', (_, one) => {
    expect(toldOf(one)).toEqual([]);
  });
});
