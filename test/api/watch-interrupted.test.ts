/** An object that cannot be read because a call was interrupted, perhaps that for another object. */
import { expect, test } from 'vitest';
import { v, watch } from '../../src/api/index.ts';
import { declarationOf } from '../../src/api/watch.ts';
import type { ObjectDigest } from '../../src/base/digests.ts';
import { OrreryError } from '../../src/base/errors.ts';

test('what was kept of it before stays, until it is read again; of another of its name nothing does', () => {
  let isInterrupted = false;
  const problems: string[] = [];
  const maps = watch('v1/ConfigMap', { digest: v.object({ size: v.number() }), read: () => ({ size: 7 }) });
  const declaration = declarationOf({ name: 'f', kinds: ['parcel'] }, maps, {
    report: (_, problem) => void problems.push(problem),
    call(_what, work) {
      if (isInterrupted)
        throw new OrreryError('INVARIANT', 'it did not yield', { facts: { interrupted: true } });
      return work();
    },
  });
  const base = { kind: 'kept', resourceVersion: '1', createdAt: 0, deleting: false, labels: {} };
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' } };
  const seen = (uid: string, before: ObjectDigest | null) => {
    const digest = { ...base, uid, ...declaration.digest(object, undefined) } as ObjectDigest;
    return declaration.carry?.(before, digest) ?? digest;
  };
  const first = seen('a', null);
  expect(first).toMatchObject({ kept: { size: 7 } });
  isInterrupted = true;
  expect(seen('a', first)).toMatchObject({ kept: { size: 7 } });
  expect(seen('b', first)).toMatchObject({ kept: null });
  expect(seen('a', null)).toMatchObject({ kept: null });
  expect(problems).toHaveLength(3);
  isInterrupted = false;
  expect(seen('a', first)).toEqual(first);
});
