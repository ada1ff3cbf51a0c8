/** Records of earlier versions are taken up by the present charts. */
import { describe, expect, test } from 'vitest';
import { createStepper } from '../../src/actors/host/step.ts';
import { effectTypes } from '../../src/machines/effects.ts';
import { machines } from '../../src/machines/index.ts';
import { migrate } from '../../src/machines/migrations.ts';
import { serviceFacts, wanted } from './service/service-script.ts';
import { stamped } from './walk.ts';

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

describe('a record of an earlier version', () => {
  test.each(earlier)('of %s, version %d, has a way to the present one', (name, version) => {
    const present = machines[name]?.version ?? 0;
    expect(() => migrate(name, { value: 'any', context: {} }, version, present)).not.toThrow();
  });

  test('of a Service, version 1, samples on and keeps slices from now on', () => {
    const { service } = machines;
    if (!service) throw new Error('there is no service chart');
    const stepper = createStepper(service, new Set<string>(effectTypes));
    const restored = stepper.restore(serviceOfVersion1, 1);
    const asked = stepper.step(restored, stamped(wanted(0)));
    expect(asked.effects).toMatchObject([{ type: 'route.sample', round: 5 }]);
    const facts = { uid: 'web-1', selects: true, wanted: 'A', standing: '-', empty: true };
    const seen = stepper.step(asked.snapshot, stamped({ type: 'service.endpoints.observed', facts }));
    expect(seen.effects).toMatchObject([{ type: 'endpoint-slices.reconcile', pass: 1 }]);
  });

  test('for which no step is known is refused, and not taken as it is', () => {
    expect(() => migrate('service', serviceOfVersion1, 0, 2)).toThrow('no step leads on from version 0');
  });
});
