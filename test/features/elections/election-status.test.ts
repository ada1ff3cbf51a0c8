/** The status of an Election, as it is written. */
import { describe, expect, test } from 'vitest';
import { ChartDriver } from '../../../packages/testing/charts/chart-driver.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeObject, PatchOptions } from '../../../src/base/kube-port.ts';
import { patchElectionStatus } from '../../../src/features/elections/effects/election-status.ts';
import { electionPart } from '../../../src/features/elections/election-digest.ts';
import { electionChart } from '../../../src/machines/election/election.ts';
import { newborn } from '../../../src/machines/election/election-context.ts';
import type { ElectionStatusPatch } from '../../../src/machines/election/election-effects.ts';
import type { ElectionFacts } from '../../../src/machines/election/election-events.ts';
import { isMistold } from '../../../src/machines/election/election-words.ts';
import { context, fakePort } from '../../kube/effects/fake-port.ts';
import { electionFacts } from './election-sample.ts';

const before = '2025-01-01T00:00:00Z';
const effect: ElectionStatusPatch = {
  type: 'election-status.patch',
  namespace: 'shop',
  name: 'leader',
  uid: 'uid-1',
  status: {
    holder: 'a',
    term: 3,
    acquireTime: null,
    renewTime: null,
    transitions: 2,
    candidates: ['a', 'b'],
    observedGeneration: 4,
    invalid: null,
  },
  at: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
};

async function written(status: string): Promise<object> {
  const bodies: PatchOptions[] = [];
  const conditions = [{ type: 'Valid', status, lastTransitionTime: before }];
  const held: KubeObject = { metadata: { name: 'leader', uid: 'uid-1' }, status: { conditions } };
  const kube = fakePort({
    get: async () => held,
    patch: async (_resource, options) => {
      bodies.push(options);
      return held;
    },
  });
  expect(await patchElectionStatus(kube)(effect, context)).toEqual({
    type: 'election-status.patched',
    uid: 'uid-1',
  });
  expect(bodies).toMatchObject([{ namespace: 'shop', name: 'leader', subresource: 'status', type: 'merge' }]);
  return bodies[0]?.body as object;
}

test('the condition Valid keeps the time of its last transition while the election stays as usable as it was', async () => {
  expect(await written('True')).toMatchObject({
    metadata: { uid: 'uid-1' },
    status: { holder: 'a', conditions: [{ status: 'True', lastTransitionTime: before }] },
  });
  expect(await written('False')).toMatchObject({
    status: { conditions: [{ status: 'True', lastTransitionTime: '2026-01-02T03:04:05Z' }] },
  });
});

test('an Election that is gone has nothing to be told; an API server that is away is asked again', async () => {
  const failing = (code: 'KUBE_NOT_FOUND' | 'KUBE_UNREACHABLE') =>
    fakePort({
      get: async () => {
        throw new OrreryError(code, 'no');
      },
    });
  const patched = patchElectionStatus(failing('KUBE_NOT_FOUND'))(effect, context);
  expect(await patched).toEqual({ type: 'election-status.patched', uid: 'uid-1' });
  await expect(patchElectionStatus(failing('KUBE_UNREACHABLE'))(effect, context)).rejects.toThrow('no');
});

test('a conflict is no end of the matter: another write came between, and the status is written again', async () => {
  const patch = async (): Promise<KubeObject> => {
    throw new OrreryError('KUBE_CONFLICT', 'the object has been modified', { facts: { status: 409 } });
  };
  const kube = fakePort({ get: async () => ({ metadata: { name: 'leader', uid: 'uid-1' } }), patch });
  await expect(patchElectionStatus(kube)(effect, context)).rejects.toThrow('modified');
  const another = fakePort({ get: async () => ({ metadata: { name: 'leader', uid: 'uid-2' } }), patch });
  expect(await patchElectionStatus(another)(effect, context)).toEqual({
    type: 'election-status.patched',
    uid: 'uid-1',
  });
});

describe('a status that somebody writes over', () => {
  const uid = 'uid-1';
  const { status, at } = effect;
  const facts: ElectionFacts = { ...electionFacts, uid, generation: 4, invalid: 'no' };
  const object = (said: object): KubeObject => ({
    metadata: { name: 'leader', namespace: 'shop', uid, resourceVersion: '1', generation: 4 },
    spec: {},
    status: said,
  });
  const conditions = [{ type: 'Valid', status: 'True' }];
  const { invalid: _, ...fields } = status;
  const said = (change: object) => electionPart(object({ ...fields, conditions, ...change })).said ?? '';
  const known = { ...newborn({ id: '', namespace: 'shop', name: 'leader' } as never), facts, told: status };
  const seen = (change: object, by = uid) => ({
    ...{ type: 'election.status.observed', facts: { uid: by, said: said(change) } },
    ...{ at, random: 0 },
  });
  const isNoticed = (context: object, event: object) => isMistold(context as never, event as never);

  test('is noticed by what it says, not by its times', () => {
    expect(isNoticed(known, seen({}))).toBe(false);
    expect(isNoticed(known, seen({ renewTime: '2026-01-01T00:00:00Z', acquireTime: 'x' }))).toBe(false);
    for (const change of [
      { holder: null },
      { term: 2 },
      { candidates: ['a'] },
      { observedGeneration: 3 },
      { conditions: [{ type: 'Valid', status: 'False' }] },
    ])
      expect(isNoticed(known, seen(change))).toBe(true);
  });

  test('is noticed if it is missing, unless the Election is so new that none was written yet', () => {
    const missing = electionPart({ ...object({}), status: undefined }).said;
    const since = (createdAt: number) => ({ ...seen({}), facts: { uid, said: missing, createdAt } });
    expect([at - 60_000, at - 59_999].map((createdAt) => isNoticed(known, since(createdAt)))).toEqual([
      true,
      false,
    ]);
    expect(isNoticed({ ...known, told: null }, since(0))).toBe(false);
  });

  test('is none while it is what is being written, before anything was told, or of another object', () => {
    const telling = { ...status, holder: 'b' };
    expect(isNoticed({ ...known, telling }, seen({ holder: 'b' }))).toBe(false);
    expect(isNoticed({ ...known, telling }, seen({ holder: 'c' }))).toBe(true);
    expect(isNoticed({ ...known, told: null }, seen({ holder: 'c' }))).toBe(false);
    expect(isNoticed(known, seen({ holder: 'c' }, 'uid-0'))).toBe(false);
    expect(isNoticed(known, { type: 'election.status.observed', facts: null, at, random: 0 })).toBe(false);
  });

  test('is written again at once, or after the write under way', () => {
    const election = new ChartDriver<{ type: string }>(electionChart, 'shop', 'leader');
    const take = (event: { readonly type: string }) => {
      election.take(event);
      return election.asked().filter(({ type }) => type === 'election-status.patch').length;
    };
    const observed = (generation: number) => ({ type: 'election.observed', facts: { ...facts, generation } });
    const patched = { type: 'election-status.patched', uid };
    const theirs = seen({ holder: 'somebody', term: 9 });
    expect(take(observed(4))).toBe(1);
    expect(take(patched)).toBe(0);
    expect(take(theirs)).toBe(1);
    expect(take(patched)).toBe(0);
    expect(take(observed(5))).toBe(1);
    expect(take(theirs)).toBe(0);
    // Which of the two was last is not known: it is looked at once more.
    expect(take(patched)).toBe(1);
    expect(take(patched)).toBe(0);
  });
});
