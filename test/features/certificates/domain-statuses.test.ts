/** What the actor of a host is told of the statuses of its Domains: docs/features/certificates.md §9.5. */
import { expect, test } from 'vitest';
import type { AnyDigest } from '../../../src/base/digests.ts';
import {
  createCertificatesJoin,
  createDomainStatusJoin,
} from '../../../src/features/certificates/certificates-join.ts';
import { Askings } from '../../../src/features/certificates/claims/askings.ts';
import { saidNothing } from '../../../src/machines/said.ts';

const resource = 'domains.orrery.dev';
const host = 'a.example.com';

function scene() {
  const objects = new Map<string, AnyDigest>();
  const get = (_: string, namespace: string, name: string) => objects.get(`${namespace}/${name}`) ?? null;
  const asked = new Askings();
  const join = createCertificatesJoin({ get, statement: () => null, entries: () => [] }, asked);
  const statuses = createDomainStatusJoin({ get }, asked);
  return {
    /** @returns the actors that it concerns */
    put(namespace: string, name: string, said?: string, wanted = host) {
      const spec = { host: wanted, secretName: name, issuer: null };
      const fixed = { kind: 'domains', uid: `u-${namespace}-${name}`, resourceVersion: '1', createdAt: 7 };
      const digest = { ...fixed, deleting: false, labels: {}, generation: 1, spec };
      const whole = { ...digest, ...(said === undefined ? {} : { said }) } as AnyDigest;
      const before = get('', namespace, name);
      objects.set(`${namespace}/${name}`, whole);
      return [...join.fold({ resource, namespace, name, digest: whole }, before)];
    },
    said: () => statuses.observe('domain', '_', host)?.facts ?? null,
  };
}

test('it is told what all of them say that ask for the host', () => {
  const { put, said } = scene();
  put('shop', 'web', 'x');
  put('mall', 'web', 'y');
  // A mirror of an earlier release does not say that there is none.
  put('mall', 'new');
  put('mall', 'other', 'z', 'b.example.com');
  const shop = { uid: 'u-shop-web', said: 'x' };
  expect(said()).toEqual([shop, { uid: 'u-mall-web', said: 'y' }]);
  expect(put('mall', 'web', 'w')).toEqual([`domain/_/${host}`]);
  expect(said()).toEqual([shop, { uid: 'u-mall-web', said: 'w' }]);
  put('mall', 'web', saidNothing);
  expect(said()).toEqual([shop, { uid: 'u-mall-web', said: saidNothing, createdAt: 7 }]);
});

test('it is told nothing while none says anything', () => {
  const { put, said } = scene();
  put('shop', 'web');
  expect(said()).toBeNull();
});

test('it is told of so many only, however many ask', () => {
  const { put, said } = scene();
  for (let n = 0; n < 400; n++) put('shop', `web-${n}`, 'x');
  expect(said()).toHaveLength(320);
});
