/** Records of earlier versions are taken up by the present charts. */
import { describe, expect, test } from 'vitest';
import type { AnyStateNode } from 'xstate';
import { stamped } from '../../packages/testing/charts/walk.ts';
import { createStepper, stateText } from '../../src/actors/host/step.ts';
import { migrate, type StoredState } from '../../src/machines/chart.ts';
import { machines } from '../chart-of.ts';
import { serviceFacts, wanted } from './service/service-script.ts';

const earlier = Object.values(machines).flatMap(({ name, version }) =>
  Array.from({ length: version - 1 }, (_, index) => [name, index + 1] as const),
);

/** As version 1 of the service chart wrote it. */
const serviceOfVersion1 = {
  value: { routes: 'idle', endpoints: 'ignored' },
  context: {
    ...{ namespace: 'shop', name: 'web', facts: serviceFacts, wants: [], watched: [], round: 4 },
    ...{ checking: false, fruitless: 0, hurried: false, header: 'yes', inquired: false },
    ...{ lastRound: null, lastError: null },
  },
};

/** The value of a chart that stands there; the other region of a Service stands in its first state. */
function standingIn(path: string): StoredState {
  const value = path
    .split('.')
    .reduceRight<unknown>((inner, state) => (inner === '' ? state : { [state]: inner }), '');
  const regions = { routes: 'idle', endpoints: 'ignored' };
  const isRegion = Object.keys(regions).some((region) => path.startsWith(`${region}.`));
  return { value: isRegion ? { ...regions, ...(value as object) } : value, context: {} };
}

describe('a record of an earlier version', () => {
  test.each(earlier)('of %s, version %d, has a way to the present one', (name, version) => {
    const chart = machines[name];
    if (!chart) throw new Error('there is no such chart');
    expect(() => migrate(chart, { value: 'any', context: {} }, version)).not.toThrow();
  });

  test('of a Service, version 1, samples on and keeps slices from now on', () => {
    const { service } = machines;
    if (!service) throw new Error('there is no service chart');
    const stepper = createStepper(service);
    const restored = stepper.restore(serviceOfVersion1, 1);
    const asked = stepper.step(restored, stamped(wanted(0)));
    expect(asked.effects).toMatchObject([{ type: 'route.sample', round: 5 }]);
    const facts = { uid: 'web-1', selects: true, wanted: 'A', standing: '-', empty: true };
    const seen = stepper.step(asked.snapshot, stamped({ type: 'service.endpoints.observed', facts }));
    expect(seen.effects).toMatchObject([{ type: 'endpoint-slices.reconcile', pass: 1 }]);
  });

  test.each([
    ['failing', { verdict: 'False', facts: { addresses: ['10.9.0.1'], probe: 'tcp://:1', ready: 'False' } }],
    ['fine', { verdict: 'True', facts: { addresses: ['10.9.0.1'], probe: 'tcp://:1', ready: 'True' } }],
    ['faulty', { verdict: null, facts: { addresses: [], probe: null, ready: null } }],
  ])('of a workload, version 1, says how the workload stands: %s', (standing, context) => {
    const { workload } = machines;
    if (!workload) throw new Error('there is no workload chart');
    const value = { notices: 'listening', health: 'resting' };
    const migrated = migrate(workload, { value, context: { namespace: 'shop', name: 'vm', ...context } }, 1);
    expect(migrated.value).toEqual({ standing, health: 'resting' });
  });

  /** As version 2 of the service chart wrote it. */
  const serviceOfVersion2 = (endpoints: string, slices: object) => {
    const facts = { uid: 'web-1', selects: true, wanted: 'B', standing: 'S', empty: false };
    const counts = { pass: 16, version: '7', endedAt: 1, burst: 0, failures: 0, retryAfterMs: 0 };
    const kept = { facts, done: null, ...counts, compactable: false, compacting: false, ...slices };
    return {
      value: { routes: 'idle', endpoints },
      context: { ...serviceOfVersion1.context, facts: null, slices: kept },
    };
  };
  const observed = (wanted: string) => ({
    type: 'service.endpoints.observed',
    facts: { uid: 'web-1', selects: true, wanted, standing: 'S', empty: false, otherWriter: '' },
  });

  test('of a Service that version 2 had given up is tried on as soon as anything is said of it', () => {
    const { service } = machines;
    if (!service) throw new Error('there is no service chart');
    const stepper = createStepper(service);
    const restored = stepper.restore(serviceOfVersion2('stuck', { failures: 16 }), 2);
    const told = stepper.step(restored, stamped(observed('B')));
    expect(told.effects).toMatchObject([{ type: 'endpoint-slices.reconcile', pass: 17, series: 1 }]);
    const [patience] = told.timers.filter(({ kind }) => kind === 'set');
    expect(patience).toMatchObject({ delayMs: 45_000 });
  });

  test.each([
    ['first', { endedAt: 0 }],
    ['alone', {}],
    ['burst', { burst: 1 }],
    ['flood', { burst: 2 }],
    ['retrying', { failures: 3 }],
    ['compacting', { compacting: true }],
  ])('of a Service with a pass in work goes on at its pace: %s', (pace, slices) => {
    const { service } = machines;
    if (!service) throw new Error('there is no service chart');
    const stepper = createStepper(service);
    const restored = stepper.restore(serviceOfVersion2('reconciling', slices), 2);
    expect(restored.value).toEqual({ routes: { resting: 'idle' }, endpoints: { reconciling: pace } });
    const end = { made: 'B', wanted: 'B', standing: 'S', empty: false, version: '8', writes: 1 };
    const ended = stepper.step(
      restored,
      stamped({ type: 'slices.reconciled', pass: 16, compactable: false, ...end }),
    );
    expect(stateText(ended.snapshot.value)).toMatch(/endpoints\.written\.(current|settling)$/);
    // The deadline of version 2 is still its own.
    const late = stepper.step(
      restored,
      stamped({ type: 'xstate.after.passPatience.service.endpoints.reconciling' }),
    );
    expect(late.snapshot.value).toMatchObject({ endpoints: 'backingOff' });
  });

  const namesOf = (node: AnyStateNode): string[] => [
    node.id,
    ...Object.values(node.states).flatMap((child) => namesOf(child)),
  ];

  /** States with deadlines, as the version before wrote them: under the ids that they still have. */
  test.each([
    ['pod', 2, 'groupMissing.unsaid', 'gated.groupMissing.unsaid'],
    ['pod', 2, 'groupMissing.telling', 'gated.groupMissing.telling'],
    ['pod', 2, 'groupMissing.patient', 'gated.groupMissing.patient'],
    ['pod', 2, 'waitingForAddress.told', 'gated.waitingForAddress.told'],
    ['pod', 2, 'invalid.unsaid', 'gated.invalid.unsaid'],
    ['pod', 2, 'proving.asking', 'gated.proving.asking'],
    ['pod', 2, 'proving.unsaid', 'gated.proving.unsaid'],
    ['pod', 2, 'proving.telling', 'gated.proving.telling'],
    ['pod', 2, 'proving.told', 'gated.proving.told'],
    ['pod', 2, 'marking.patching', 'gated.marking.patching'],
    ['pod', 2, 'marking.outdated', 'gated.marking.outdated'],
    ['pod', 2, 'marking.backingOff', 'gated.marking.retrying.backingOff'],
    ['pod', 2, 'marking.waitingForNews', 'gated.marking.retrying.waitingForNews'],
    ['pod', 2, 'ready.proven', 'gated.ready.proven'],
    ['pod', 2, 'ready.doubted', 'gated.ready.doubted'],
    ['pod', 2, 'lost.withdrawing', 'gated.lost.withdrawing'],
    ['pod', 2, 'lost.backingOff', 'gated.lost.backingOff'],
    ['service', 3, 'routes.watching', 'routes.resting.watching'],
    ['service', 3, 'routes.pausing', 'routes.waiting.pausing'],
    ['service', 3, 'routes.waking', 'routes.waiting.waking'],
    ['service', 3, 'routes.sampling', 'routes.sampling'],
    ['service', 3, 'routes.inquiring', 'routes.inquiring'],
    ['service', 3, 'endpoints.sparse', 'endpoints.written.sparse'],
    ['service', 3, 'endpoints.settling', 'endpoints.written.settling'],
    ['service', 3, 'endpoints.backingOff', 'endpoints.backingOff'],
    ['service', 3, 'endpoints.reconciling.flood', 'endpoints.reconciling.flood'],
    ['service', 3, 'endpoints.stuck.resting', 'endpoints.stuck.resting'],
  ])(
    "of %s, version %i, in %s stands in %s, and its deadlines are that state's",
    (name, version, was, is) => {
      const chart = machines[name];
      if (!chart) throw new Error(`there is no ${name} chart`);
      const { value, context } = standingIn(was);
      const restored = createStepper(chart).restore({ value, context }, version);
      expect(stateText(restored.value).split(',')).toContain(is);
      expect(restored._nodes.map(({ id }) => id)).toContain(`${name}.${was}`);
      // No two states have one deadline.
      const ids = namesOf(chart.machine.root);
      expect(new Set(ids).size).toBe(ids.length);
    },
  );

  test('for which no step is known is refused, and not taken as it is', () => {
    const { service } = machines;
    if (!service) throw new Error('there is no service chart');
    expect(() => migrate(service, serviceOfVersion1, 0)).toThrow('no step leads on from version 0');
  });
});
