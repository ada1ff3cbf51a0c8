/** What a mirror sees beside what the world holds: which message an object needs, if any. */
import { expect, test } from 'vitest';
import type { Digest, PodDigest, WorldEntry } from '../../../src/base/digests.ts';
import { encodeJson } from '../../../src/bus/codec.ts';
import { createPicture } from '../../../src/kube/mirror/picture.ts';

const digest = (uid: string, resourceVersion: string, more: Partial<PodDigest> = {}): PodDigest => ({
  kind: 'pods',
  uid,
  resourceVersion,
  createdAt: 0,
  deleting: false,
  labels: { app: 'web' },
  address: null,
  readinessGates: [],
  conditions: {},
  matchedEnv: [],
  ...more,
});
const seen = (of: Digest, name = 'web-0') => ({ namespace: 'shop', name, digest: of });

function begin(held: readonly PodDigest[] = []) {
  let isListed = true;
  const dirty: string[] = [];
  const picture = createPicture({
    resource: 'pods',
    name: 'pods',
    subjectOf: (...words) => words.join('/'),
    encode: encodeJson,
    interest: {
      fold: () => 'nothing',
      wants: (_: string, _name: string, { labels }: { labels?: object }) =>
        JSON.stringify(labels).includes('web'),
      digestsOf: () => ({ envPairs: [], fieldPaths: [] }),
      versions: () => [],
    } as never,
    isListed: () => isListed,
    onDirty: (key) => dirty.push(key),
  });
  const entries: WorldEntry[] = held.map((one) => ({ resource: 'pods', ...seen(one) }));
  picture.adopt(entries);
  /** What would be published for the object, stored at once. */
  const publish = () => {
    const message = picture.take('shop/web-0');
    message?.onStored();
    return message === null ? null : JSON.parse(new TextDecoder().decode(message.data));
  };
  const unlisted = () => {
    isListed = false;
  };
  return { picture, publish, dirty, unlisted };
}

test('what the world holds already is not published', () => {
  const { picture, publish } = begin([digest('a', '5')]);
  picture.put(seen(digest('a', '7')));
  expect(publish()).toBeNull();
});

test('what differs is, once', () => {
  const { picture, publish } = begin([digest('a', '5')]);
  picture.put(seen(digest('a', '7', { deleting: true })));
  expect(publish()).toMatchObject({ resourceVersion: '7', deleting: true });
  expect(publish()).toBeNull();
});

test('an older version of an object changes nothing, a version of another object does', () => {
  const { picture, publish } = begin();
  picture.put(seen(digest('a', '10')));
  picture.put(seen(digest('a', '9', { deleting: true })));
  expect(publish()).toMatchObject({ resourceVersion: '10', deleting: false });
  picture.put(seen(digest('b', '3')));
  expect(publish()).toMatchObject({ uid: 'b' });
});

test('the end of an earlier object of the name says nothing about the one that is there now', () => {
  const { picture, publish } = begin();
  picture.put(seen(digest('b', '10')));
  picture.remove(seen(digest('a', '9')));
  expect(publish()).toMatchObject({ uid: 'b' });
  picture.remove(seen(digest('b', '12')));
  expect(publish()).toEqual({ deleted: true, uid: 'b', resourceVersion: '10' });
  expect(publish()).toBeNull();
});

test('an object that was not seen is gone only when its namespace was listed', () => {
  const { publish, unlisted } = begin([digest('a', '5')]);
  unlisted();
  expect(publish()).toBeNull();
});

test('an object that is not wanted any more leaves a tombstone, one that never was leaves nothing', () => {
  const { picture, publish, unlisted } = begin([digest('a', '5')]);
  unlisted();
  picture.put(seen(digest('a', '6', { labels: {} })));
  expect(publish()).toMatchObject({ deleted: true, uid: 'a' });
  picture.put(seen(digest('b', '8', { labels: {} })));
  expect(publish()).toBeNull();
});

test('a complete list ends what is not in it, in its namespace', () => {
  const { picture, dirty } = begin();
  picture.put(seen(digest('a', '1'), 'one'));
  picture.put(seen(digest('b', '2'), 'two'));
  picture.put({ ...seen(digest('c', '3'), 'three'), namespace: 'other' });
  dirty.length = 0;
  picture.replace('shop', [seen(digest('a', '1'), 'one')]);
  expect(dirty).toEqual(['shop/two']);
  expect(picture.size).toBe(2);
});

test('a tombstone lasts an hour, a digest for ever', () => {
  const { picture } = begin();
  picture.put(seen(digest('a', '1')));
  const message = picture.take('shop/web-0');
  expect(message?.ttlSeconds).toBeUndefined();
  message?.onStored();
  picture.remove(seen(digest('a', '2')));
  expect(picture.take('shop/web-0')?.ttlSeconds).toBe(3_600);
});

test('a complete list is right, whatever version it shows: the cluster was restored', () => {
  const { picture, publish } = begin([digest('a', '900', { deleting: true })]);
  picture.put(seen(digest('a', '901', { deleting: true })));
  picture.replace('shop', [seen(digest('a', '20'))]);
  expect(publish()).toMatchObject({ resourceVersion: '20', deleting: false });
  expect(publish()).toBeNull();
  // And what follows is later than that.
  picture.put(seen(digest('a', '21', { deleting: true })));
  expect(publish()).toMatchObject({ resourceVersion: '21', deleting: true });
});

test('an object that differs in nothing but a version that went back is published, for the versions to come', () => {
  const { picture, publish } = begin([digest('a', '900')]);
  picture.replace('shop', [seen(digest('a', '20'))]);
  expect(publish()).toMatchObject({ resourceVersion: '20' });
});
