/** Pods of Services, kept as both change, against a look at all of them. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isSelected } from '../../packages/dev-cluster/controllers/endpoint-slices.ts';
import { createSelections } from '../../packages/dev-cluster/controllers/selections.ts';
import { keyOf, type PodObject, type ServiceObject } from '../../packages/dev-cluster/objects.ts';

const labels = fc.dictionary(fc.constantFrom('app', 'tier'), fc.constantFrom('a', 'b'));
const metadata = fc.record({ name: fc.constantFrom('x', 'y', 'z'), namespace: fc.constantFrom('n', 'm') });
const podStep = fc.record({ kind: fc.constant('pod' as const), metadata, labels, isGone: fc.boolean() });
const serviceStep = fc.record({
  kind: fc.constant('service' as const),
  metadata,
  selector: fc.option(labels, { nil: undefined }),
  type: fc.constantFrom(undefined, 'ExternalName'),
  isGone: fc.boolean(),
});

const podOf = (step: { metadata: object; labels: Record<string, string> }): PodObject => ({
  metadata: { ...(step.metadata as { name: string; namespace: string }), labels: step.labels },
});
const serviceOf = (step: {
  metadata: { name: string; namespace: string };
  selector: Record<string, string> | undefined;
  type: string | undefined;
}): ServiceObject => ({
  metadata: step.metadata,
  spec: {
    ...(step.selector === undefined ? {} : { selector: step.selector }),
    ...(step.type === undefined ? {} : { type: step.type }),
  },
});

test('after any changes each Service has the Pods that it selects, and a Pod wakes the Services it concerns', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(podStep, serviceStep), { maxLength: 40 }), (steps) => {
      const selections = createSelections();
      const pods = new Map<string, PodObject>();
      const services = new Map<string, ServiceObject>();
      for (const step of steps) {
        if (step.kind === 'pod') {
          const pod = podOf(step);
          const before = pods.get(keyOf(pod));
          if (step.isGone) pods.delete(keyOf(pod));
          else pods.set(keyOf(pod), pod);
          const concerned = [...services.values()].filter(
            (service) =>
              (before !== undefined && isSelected(service, before)) ||
              (!step.isGone && isSelected(service, pod)),
          );
          expect(selections.setPod(pod, step.isGone).sort()).toEqual(concerned.map(keyOf).sort());
        } else {
          const service = serviceOf(step);
          if (step.isGone) services.delete(keyOf(service));
          else services.set(keyOf(service), service);
          selections.setService(service, step.isGone);
        }
        for (const [key, service] of services) {
          const selected = [...pods.values()].filter((pod) => isSelected(service, pod));
          expect(selections.podsOf(key).map(keyOf).sort()).toEqual(selected.map(keyOf).sort());
        }
      }
    }),
  );
});
