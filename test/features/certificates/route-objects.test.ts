/** Ingresses and HTTPRoutes of challenges: made, taken away and swept, and nobody else's touched. */
import { beforeEach, describe, expect, test } from 'vitest';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeObject, KubeResource } from '../../../src/base/kube-port.ts';
import {
  makeRoute,
  removeRoute,
  sweepRoutes,
} from '../../../src/features/certificates/solvers/route-objects.ts';
import type { GatewayExhibit, IngressExhibit } from '../../../src/machines/domain/exhibit.ts';
import { fakePort } from '../../kube/effects/fake-port.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const { signal } = new AbortController();
const object = {
  host: 'app.example.com',
  name: 'acme-app.example.com',
  service: { namespace: 'orrery', name: 'orrery', port: 8089 },
  owner: { name: 'le', uid: 'issuer-uid' },
};
const ingress: IngressExhibit = { kind: 'ingress', ...object, className: null };
const route: GatewayExhibit = { kind: 'gateway', ...object, parentRefs: [{ name: 'edge' }] };

const there = new Map<string, KubeObject>();
let clock: VirtualClock;
let hasGateway = true;
beforeEach(() => {
  there.clear();
  hasGateway = true;
  clock = new VirtualClock();
});

const keyOf = ({ plural }: KubeResource, name: string) => `${plural}/${name}`;
const absent = (what: string) => new OrreryError('KUBE_NOT_FOUND', `there is no ${what}`);
function put(resource: KubeResource, one: KubeObject): KubeObject {
  const metadata = { ...one.metadata, uid: 'u', resourceVersion: String(there.size + 1) };
  there.set(keyOf(resource, one.metadata.name), { ...one, metadata });
  return one;
}

const kube = fakePort({
  async create(resource, one) {
    if (there.has(keyOf(resource, one.metadata.name))) throw new OrreryError('KUBE_CONFLICT', 'it exists');
    return put(resource, one);
  },
  async get(resource, _, name) {
    const found = there.get(keyOf(resource, name));
    if (found === undefined) throw absent(name);
    return found;
  },
  async list(resource, { labelSelector = '' }) {
    if (resource.plural === 'httproutes' && !hasGateway) throw absent('resource');
    const items = [...there].flatMap(([key, one]) =>
      key.startsWith(`${resource.plural}/`) && one.metadata.labels?.[labelSelector] !== undefined
        ? [one]
        : [],
    );
    return { items, resourceVersion: '1', continue: '' };
  },
  patch: async (resource, { body }) => put(resource, body as KubeObject),
  async delete(resource, _, name, { resourceVersion }) {
    const found = there.get(keyOf(resource, name));
    if (found?.metadata.resourceVersion !== resourceVersion)
      throw new OrreryError('KUBE_CONFLICT', 'it changed');
    there.delete(keyOf(resource, name));
  },
});

describe.each([
  ['an Ingress', ingress, 'ingresses'],
  ['an HTTPRoute', route, 'httproutes'],
] as const)('%s', (_, exhibit, plural) => {
  test('is made twice and is one, and is taken away twice', async () => {
    await makeRoute(kube, exhibit, clock, signal);
    await makeRoute(kube, exhibit, clock, signal);
    expect([...there.keys()]).toEqual([`${plural}/acme-app.example.com`]);
    await removeRoute(kube, exhibit, signal);
    await removeRoute(kube, exhibit, signal);
    expect(there.size).toBe(0);
  });

  test('of somebody else is neither changed nor removed', async () => {
    const theirs = { metadata: { name: exhibit.name, namespace: 'orrery' }, spec: 'theirs' };
    put({ plural } as KubeResource, theirs);
    await expect(makeRoute(kube, exhibit, clock, signal)).rejects.toThrow('is left alone');
    await removeRoute(kube, exhibit, signal);
    expect([...there.values()]).toMatchObject([{ spec: 'theirs' }]);
  });
});

test('what nobody removed is swept when its time is over, not before, and a renewed one stays', async () => {
  const other = { ...ingress, name: 'acme-other.example.com' };
  await makeRoute(kube, ingress, clock, signal);
  await makeRoute(kube, route, clock, signal);
  await makeRoute(kube, other, clock, signal);
  await clock.advance(14 * 60_000);
  expect(await sweepRoutes(kube, 'orrery', clock, signal)).toEqual([]);
  await makeRoute(kube, other, clock, signal);
  await clock.advance(2 * 60_000);
  expect(await sweepRoutes(kube, 'orrery', clock, signal)).toEqual([
    'Ingress orrery/acme-app.example.com',
    'HTTPRoute orrery/acme-app.example.com',
  ]);
  expect([...there.keys()]).toEqual(['ingresses/acme-other.example.com']);
});

test('without the Gateway API the Ingresses are swept all the same', async () => {
  await makeRoute(kube, ingress, clock, signal);
  hasGateway = false;
  await clock.advance(16 * 60_000);
  expect(await sweepRoutes(kube, 'orrery', clock, signal)).toEqual(['Ingress orrery/acme-app.example.com']);
});
