/**
 * What several features declare of one resource, as one mirror has it. The kinds are made up: the mirror
 * knows none.
 */
import { describe, expect, test } from 'vitest';
import type {
  Interest,
  InterestChange,
  NamedWatches,
  WatchDeclaration,
} from '../../../src/actors/world/watch-declaration.ts';
import type { WorldEntry } from '../../../src/base/digests.ts';
import type { KubeObject, KubeResource } from '../../../src/base/kube-port.ts';
import { mergeOne, watchesOf } from '../../../src/kube/mirror/merged-watch.ts';
import { createInterest } from '../../../src/kube/mirror/mirror-interest.ts';

const widgets: KubeResource = {
  group: 'example.com',
  version: 'v1',
  plural: 'widgets',
  kind: 'Widget',
  namespaced: true,
};
const widget = (fields: object = {}, metadata: object = {}): KubeObject => ({
  metadata: { name: 'w', namespace: 'shop', uid: 'u-1', resourceVersion: '42', ...metadata },
  ...fields,
});
const declared = (more: Partial<WatchDeclaration> = {}): WatchDeclaration => ({
  resource: widgets,
  digest: () => ({}),
  ...more,
});
const interestIn = (...parts: WatchDeclaration[]) => createInterest(mergeOne(parts), widgets);
const wanting = (wants: boolean, more: Partial<Interest> = {}): Pick<WatchDeclaration, 'interest'> => ({
  interest: () => ({ tellers: [], fold: () => 'nothing', wants: () => wants, ...more }),
});
const teller: WorldEntry = { resource: 'gadgets', namespace: 'shop', name: 'g', digest: null };

describe('a digest', () => {
  test('tells of the object what every digest tells', () => {
    const object = widget(
      { secret: 'x' },
      {
        creationTimestamp: '2025-01-02T03:04:05Z',
        deletionTimestamp: '2025-01-03T00:00:00Z',
        labels: { app: 'web', odd: 7 },
      },
    );
    expect(interestIn(declared()).digestOf(object)).toEqual({
      kind: 'widgets',
      uid: 'u-1',
      resourceVersion: '42',
      createdAt: Date.parse('2025-01-02T03:04:05Z'),
      deleting: true,
      labels: { app: 'web' },
    });
  });

  test('of an object without a uid or a version is refused', () => {
    const interest = interestIn(declared());
    expect(() => interest.digestOf({ metadata: { name: 'x' } })).toThrow(/uid and a resourceVersion/);
    expect(() => interest.digestOf(widget({}, { uid: '' }))).toThrow(/uid and a resourceVersion/);
  });

  test('has the parts of all features side by side, and a form that they may name', () => {
    const interest = interestIn(
      declared({ digestKind: 'thing', digest: ({ spec }) => ({ spec }) }),
      declared({ digestKind: 'thing', digest: () => ({ more: 1 }) }),
    );
    expect(interest.digestOf(widget({ spec: 5 }))).toMatchObject({ kind: 'thing', spec: 5, more: 1 });
  });

  test('has labels as soon as one feature asks for them', () => {
    const object = widget({}, { labels: { app: 'web' } });
    const labelsOf = (...parts: WatchDeclaration[]) => interestIn(...parts).digestOf(object).labels;
    expect(labelsOf(declared({ withoutLabels: true }))).toEqual({});
    expect(labelsOf(declared({ withoutLabels: true }), declared())).toEqual({ app: 'web' });
  });

  test('is told what its own feature asks for in the namespace', () => {
    const asking = (what: string): WatchDeclaration => {
      const digest = (_: KubeObject, asked: unknown) => ({ [what]: asked });
      const asked = (namespace: string) => `${what} of ${namespace}`;
      return declared({ digest, ...wanting(true, { asked }) });
    };
    expect(interestIn(asking('a'), asking('b')).digestOf(widget())).toMatchObject({
      a: 'a of shop',
      b: 'b of shop',
    });
  });

  test('is carried over by each feature in turn', () => {
    const add = (mark: string) =>
      declared({ carry: (before, after) => ({ ...after, [mark]: before?.resourceVersion ?? null }) });
    const interest = interestIn(add('a'), declared(), add('b'));
    const digest = interest.digestOf(widget());
    expect(interest.carried(null, digest)).toMatchObject({ a: null, b: null });
    expect(interest.carried(digest, digest)).toMatchObject({ a: '42', b: '42' });
  });
});

describe('an object', () => {
  test.each([
    ['somebody wants', [false, true], true],
    ['nobody wants', [false, false], false],
  ])('that %s', (_, wants, held) => {
    const interest = interestIn(...wants.map((one) => declared(wanting(one))));
    expect(interest.wants('shop', 'w', interest.digestOf(widget()))).toBe(held);
  });

  test('is held by whoever asks for no one in particular', () => {
    const interest = interestIn(declared(wanting(false)), declared());
    expect(interest.wants('shop', 'w', interest.digestOf(widget()))).toBe(true);
  });
});

describe('news of the world', () => {
  const saying = (change: InterestChange) =>
    declared(wanting(false, { tellers: ['gadgets'], fold: () => change }));

  test.each<[InterestChange, InterestChange, InterestChange]>([
    ['nothing', 'nothing', 'nothing'],
    ['nothing', ['a'], ['a']],
    [['a'], ['b'], ['a', 'b']],
    [['a'], 'wanted', 'wanted'],
    ['wanted', 'digests', 'digests'],
    [[], 'nothing', []],
  ])('%j and %j are %j', (a, b, both) => {
    expect(interestIn(saying(a), saying(b)).fold(teller)).toEqual(both);
    expect(interestIn(saying(b), saying(a)).fold(teller)).toEqual(
      Array.isArray(both) ? [...both].reverse() : both,
    );
  });

  test('reaches those alone who listen to it', () => {
    const deaf = declared(
      wanting(false, {
        fold() {
          throw new Error('nobody asked');
        },
      }),
    );
    const interest = interestIn(deaf, saying('wanted'));
    expect(interest.tellers).toEqual(['gadgets']);
    expect(interest.fold(teller)).toBe('wanted');
  });
});

test('a statement names those who ask, each once and in one order', () => {
  const asked = (...versions: string[]) => declared(wanting(false, { versions: () => versions }));
  expect(interestIn(asked('b', 'a'), declared(), asked('c', 'b')).versions()).toEqual(['a', 'b', 'c']);
});

describe('declarations', () => {
  const watchOf = (...parts: WatchDeclaration[]) => watchesOf([{ watches: parts }]);

  test('of one resource are one watch, whether it is known or looked up', () => {
    const named = { apiVersion: 'example.com/v1', kind: 'Widget' };
    const [watch, ...others] = watchOf(declared({ resource: named }), declared({ needed: true }));
    expect(others).toEqual([]);
    expect(watch).toMatchObject({ resource: widgets, mirror: 'example.com/v1/Widget', isNeeded: true });
  });

  test('name a resource and its mirror, or leave that to us', () => {
    const core = { ...widgets, group: '' };
    const nameOf = (more: Partial<WatchDeclaration>) => {
      const watch = mergeOne([declared(more)]);
      return [watch.mirror, createInterest(watch, watch.resource as KubeResource).resource];
    };
    expect(nameOf({})).toEqual(['example.com/v1/Widget', 'widgets.example.com']);
    expect(nameOf({ resource: core })).toEqual(['v1/Widget', 'widgets']);
    expect(nameOf({ name: 'things' })).toEqual(['things', 'things']);
    expect(mergeOne([declared(), declared({ name: 'things', digestKind: 'thing' })])).toMatchObject({
      mirror: 'things',
      digestKind: 'thing',
    });
  });

  test.each([
    ['name', { name: 'a' }, { name: 'b' }],
    ['label', { label: 'a' }, {}],
    ['digestKind', { digestKind: 'a' }, { digestKind: 'b' }],
  ])('that differ in the %s contradict each other', (field, a, b) => {
    expect(() => watchOf(declared(a), declared(b))).toThrow(`example.com/v1/Widget differ in its ${field}`);
  });

  test('whoever names kinds is named in every statement but those of its own resources', () => {
    const namedWatches: NamedWatches = {
      tellers: [],
      wanted: () => [],
      declare: (named) => ({
        resource: named,
        digest: () => ({ never: true }),
        ...wanting(true, { versions: () => [`${named.kind}/1`] }),
      }),
    };
    const [other, own] = watchesOf([
      { watches: [declared(wanting(false))] },
      { watches: [declared({ resource: { ...widgets, kind: 'Own' } })], namedWatches },
    ]);
    const interest = other && createInterest(other, widgets);
    expect(interest?.versions()).toEqual(['Widget/1']);
    expect(interest?.digestOf(widget())).not.toHaveProperty('never');
    expect(interest?.wants('shop', 'w', interest.digestOf(widget()))).toBe(false);
    expect(own?.askers).toEqual([]);
  });
});
