/**
 * The form of the world is a promise: replicas of two releases read each other's digests and statements while
 * one replaces the other.
 *
 * The expected values were made by the release that had one function for all kinds; later ones may add to a
 * digest, not change it.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { WorldEntry } from '../../src/base/digests.ts';
import type { KubeObject, KubeResource } from '../../src/base/kube-port.ts';
import { decode, encode } from '../../src/bus/codec.ts';
import { neededMirrors } from '../../src/kube/mirror/holdings.ts';
import { featuresOf } from '../../src/replica/features.ts';
import { interestIn, watchOf } from '../kube/mirror/declared.ts';

interface Case {
  readonly title: string;
  readonly resource: KubeResource;
  readonly object: KubeObject;
  /** The name of its mirror, and of its resource in the world. */
  readonly mirror: string;
  readonly world: string;
  /**
   * With the RouteGate and the workload of `asking` in mind; `unasked`: without, where that is another one.
   */
  readonly digest: object;
  readonly unasked?: object;
  readonly wanted: boolean;
  readonly wantedUnasked: boolean;
  /** In the statement. */
  readonly gates: readonly string[];
}

const sample = new URL('./world-format.json', import.meta.url);
const { asking, cases } = JSON.parse(readFileSync(sample, 'utf8')) as {
  readonly asking: readonly WorldEntry[];
  readonly cases: readonly Case[];
};

describe.each(cases)('$title', ({ resource, object, ...expected }) => {
  const told = interestIn(resource, asking);
  const untold = interestIn(resource);
  const { namespace = '', name } = object.metadata;

  test('stands where it stood, in the form that it had', () => {
    expect(watchOf(resource).mirror).toBe(expected.mirror);
    expect(told.resource).toBe(expected.world);
    expect(decode(encode(told.digestOf(object)))).toMatchObject(expected.digest);
    expect(decode(encode(untold.digestOf(object)))).toMatchObject(expected.unasked ?? expected.digest);
  });

  test('is held for the same reasons, and its statement names the same RouteGates', () => {
    expect(told.wants(namespace, name, told.digestOf(object))).toBe(expected.wanted);
    expect(untold.wants(namespace, name, untold.digestOf(object))).toBe(expected.wantedUnasked);
    expect(told.versions()).toEqual(expected.gates);
  });
});

test('a replica waits for the same lists before it is ready', () => {
  expect(neededMirrors(featuresOf())).toEqual(['routegates', 'pods', 'services', 'endpointslices']);
});
