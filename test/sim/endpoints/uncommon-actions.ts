/**
 * What happens to Services and workloads more seldom: other types, families and ports, objects that a
 * finalizer holds while they are being deleted, a name that is deleted and used again at once, and a
 * namespace that is deleted with all its objects.
 *
 * For a simulated API only: a real one has its own rules for addresses of a Service, and its own deletion of
 * namespaces.
 */
import type { KubeObject, KubeResource } from '../../../src/base/kube-port.ts';
import { externalWorkloads } from '../../../src/features/endpoints/resources.ts';
import { endpointSlices, services } from '../../../src/kube/api/resources.ts';
import { endAll, setFinalizers, terminating } from '../api/ending.ts';
import type { ActingParts } from '../features/feature-world.ts';

export type Action = readonly [name: string, act: () => string | null];

export interface Making {
  readonly namespace: string;
  makeAll(): void;
  makeWorkload(name: string, app: string): void;
}

/** At times longer than slices may be wrong for, ms. */
const forAWhile = (chance: ActingParts['chance']) =>
  chance.happens(0.3) ? 120_000 : chance.seldomLong(100, 20_000);

const finalizer = 'example.com/not-yet';

export const uncommonActions = (parts: ActingParts, making: Making): readonly Action[] =>
  parts.stage.api.refuse === undefined
    ? []
    : [...serviceEdits(parts, making), ...endings(parts, making), ...namespaceEnds(parts, making)];

function serviceEdits({ stage, chance }: ActingParts, { namespace }: Making): readonly Action[] {
  const { api, clock } = stage;
  const write = ({ metadata: { name, uid } }: KubeObject, spec: object) => {
    if (api.find(services, namespace, name)?.metadata.uid === uid)
      api.patch(services, { namespace, name, type: 'merge', body: { spec } });
  };
  const edit = (spec: object, undone?: object) => {
    const found = chance.pick(api.all(services));
    if (!found) return null;
    write(found, spec);
    // What is of no use to anybody else would hide all that goes on meanwhile.
    if (undone) clock.after(forAWhile(chance), () => write(found, undone));
    return `${found.metadata.name} ${JSON.stringify(spec)}`;
  };
  const selector = () => ({ selector: { app: chance.pick(['a', 'b']) } });
  return [
    ['service type', () => edit({ type: 'ExternalName' }, { type: 'ClusterIP' })],
    ['service families', () => edit({ ipFamilies: chance.pick([['IPv4'], ['IPv4', 'IPv6']]) })],
    ['service without selector', () => edit({ selector: null }, selector())],
    [
      'service port',
      () => {
        const targetPort = chance.pick(['http', 'http', 8_080, 'missing']);
        return edit({ ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort }] });
      },
    ],
  ];
}

/** Objects that go slowly, and such as are made again before anybody has seen that they went. */
function endings({ stage, chance }: ActingParts, { namespace, makeWorkload }: Making): readonly Action[] {
  const { api, clock } = stage;
  const slowly = (resource: KubeResource) => {
    const found = chance.pick(api.all(resource));
    if (!found || found.metadata.deletionTimestamp !== undefined) return null;
    const { name } = found.metadata;
    setFinalizers(api, resource, found, [finalizer]);
    api.remove(resource, namespace, name);
    clock.after(forAWhile(chance), () => release(api, resource, found));
    return name;
  };
  return [
    ['workload terminates', () => slowly(externalWorkloads)],
    ['service terminates', () => slowly(services)],
    [
      'workload made anew',
      () => {
        const found = chance.pick(api.all(externalWorkloads));
        if (!found || found.metadata.deletionTimestamp !== undefined) return null;
        const { name, labels } = found.metadata;
        api.remove(externalWorkloads, namespace, name);
        makeWorkload(name, labels?.app ?? 'a');
        return name;
      },
    ],
  ];
}

type Api = ActingParts['stage']['api'];

/** Lets go of it, if it is still the same object. */
function release(api: Api, resource: KubeResource, { metadata }: KubeObject): void {
  const present = api.find(resource, metadata.namespace, metadata.name);
  if (present !== null && present.metadata.uid === metadata.uid) setFinalizers(api, resource, present, []);
}

/** As Kubernetes does it: nothing can be created any more, and what there is goes in any order. */
function namespaceEnds({ stage, chance }: ActingParts, { namespace, makeAll }: Making): readonly Action[] {
  const { api, clock } = stage;
  return [
    [
      'namespace deleted',
      () => {
        const refusal = terminating(namespace);
        api.refuse = ({ before, by }) => (before === null && by !== 'world' ? refusal : null);
        const goneMs = endAll(stage, chance, [services, externalWorkloads, endpointSlices]);
        clock.after(goneMs, () => {
          api.refuse = () => null;
        });
        clock.after(goneMs + chance.seldomLong(10, 5_000), makeAll);
        return namespace;
      },
    ],
  ];
}
