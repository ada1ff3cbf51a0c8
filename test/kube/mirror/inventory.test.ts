/** What a mirror sees beside what the world holds: which message an object needs, if any. */
import { expect, test } from 'vitest';
import type { WorldEntry } from '../../../src/base/digests.ts';
import { encodeJson } from '../../../src/bus/codec.ts';
import type { PodDigest } from '../../../src/features/routes/digests.ts';
import { Inventory } from '../../../src/kube/mirror/inventory.ts';

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
const seen = (of: PodDigest, name = 'web-0') => ({ namespace: 'shop', name, digest: of });

function begin(held: readonly PodDigest[] = []) {
  let isListed = true;
  const dirty: string[] = [];
  const inventory = new Inventory({
    resource: 'pods',
    name: 'pods',
    subjectOf: (...words) => words.join('/'),
    encode: encodeJson,
    interest: {
      wants: (_namespace, _name, { labels }) => JSON.stringify(labels).includes('web'),
      carried: (_before, after) => after,
    },
    isListed: () => isListed,
    onDirty: (key) => dirty.push(key),
  });
  const entries: WorldEntry[] = held.map((one) => ({ resource: 'pods', ...seen(one) }));
  inventory.adopt(entries);
  /** What would be published for the object, stored at once. */
  const publish = () => {
    const message = inventory.take('shop/web-0');
    message?.onStored();
    return message === null ? null : JSON.parse(new TextDecoder().decode(message.data));
  };
  const unlisted = () => {
    isListed = false;
  };
  return { inventory, publish, dirty, unlisted };
}

test('what the world holds already is not published', () => {
  const { inventory, publish } = begin([digest('a', '5')]);
  inventory.put(seen(digest('a', '7')));
  expect(publish()).toBeNull();
});

test('what differs is, once', () => {
  const { inventory, publish } = begin([digest('a', '5')]);
  inventory.put(seen(digest('a', '7', { deleting: true })));
  expect(publish()).toMatchObject({ resourceVersion: '7', deleting: true });
  expect(publish()).toBeNull();
});

test('an older version of an object changes nothing, a version of another object does', () => {
  const { inventory, publish } = begin();
  inventory.put(seen(digest('a', '10')));
  inventory.put(seen(digest('a', '9', { deleting: true })));
  expect(publish()).toMatchObject({ resourceVersion: '10', deleting: false });
  inventory.put(seen(digest('b', '3')));
  expect(publish()).toMatchObject({ uid: 'b' });
});

test('the end of an earlier object of the name says nothing about the one that is there now', () => {
  const { inventory, publish } = begin();
  inventory.put(seen(digest('b', '10')));
  inventory.remove(seen(digest('a', '9')));
  expect(publish()).toMatchObject({ uid: 'b' });
  inventory.remove(seen(digest('b', '12')));
  expect(publish()).toEqual({ deleted: true, uid: 'b', resourceVersion: '10' });
  expect(publish()).toBeNull();
});

test('an object that was not seen is gone only when its namespace was listed', () => {
  const { publish, unlisted } = begin([digest('a', '5')]);
  unlisted();
  expect(publish()).toBeNull();
});

test('an object that is not wanted any more leaves a tombstone, one that never was leaves nothing', () => {
  const { inventory, publish, unlisted } = begin([digest('a', '5')]);
  unlisted();
  inventory.put(seen(digest('a', '6', { labels: {} })));
  expect(publish()).toMatchObject({ deleted: true, uid: 'a' });
  inventory.put(seen(digest('b', '8', { labels: {} })));
  expect(publish()).toBeNull();
});

test('a complete list ends what is not in it, in its namespace', () => {
  const { inventory, dirty } = begin();
  inventory.put(seen(digest('a', '1'), 'one'));
  inventory.put(seen(digest('b', '2'), 'two'));
  inventory.put({ ...seen(digest('c', '3'), 'three'), namespace: 'other' });
  dirty.length = 0;
  inventory.replace('shop', [seen(digest('a', '1'), 'one')]);
  expect(dirty).toEqual(['shop/two']);
  expect(inventory.size).toBe(2);
});

test('a tombstone lasts an hour, a digest for ever', () => {
  const { inventory } = begin();
  inventory.put(seen(digest('a', '1')));
  const message = inventory.take('shop/web-0');
  expect(message?.ttlSeconds).toBeUndefined();
  message?.onStored();
  inventory.remove(seen(digest('a', '2')));
  expect(inventory.take('shop/web-0')?.ttlSeconds).toBe(3_600);
});

test('a complete list is right, whatever version it shows: the cluster was restored', () => {
  const { inventory, publish } = begin([digest('a', '900', { deleting: true })]);
  inventory.put(seen(digest('a', '901', { deleting: true })));
  inventory.replace('shop', [seen(digest('a', '20'))]);
  expect(publish()).toMatchObject({ resourceVersion: '20', deleting: false });
  expect(publish()).toBeNull();
  // And what follows is later than that.
  inventory.put(seen(digest('a', '21', { deleting: true })));
  expect(publish()).toMatchObject({ resourceVersion: '21', deleting: true });
});

test('an object that differs in nothing but a version that went back is published, for the versions to come', () => {
  const { inventory, publish } = begin([digest('a', '900')]);
  inventory.replace('shop', [seen(digest('a', '20'))]);
  expect(publish()).toMatchObject({ resourceVersion: '20' });
});
