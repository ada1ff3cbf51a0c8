/** What a mirror sees beside what the world holds: which message an object needs, if any. */
import { describe, expect, test } from 'vitest';
import type { ObjectDigest, WorldEntry } from '../../../src/base/digests.ts';
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

describe('an object that the picture holds, too, is held once', () => {
  function beginHolding(known: readonly PodDigest[]) {
    const given: Array<ObjectDigest | null> = [];
    const inventory = new Inventory({
      ...{ resource: 'pods', name: 'pods', encode: encodeJson, isListed: () => true, onDirty: () => {} },
      subjectOf: (...words) => words.join('/'),
      interest: {
        wants: () => true,
        carried(before, after) {
          given.push(before);
          return after;
        },
      },
    });
    inventory.adopt(known.map((one) => ({ resource: 'pods', ...seen(one) })));
    /** The object that it holds now: it is what the next one is compared with. */
    const holds = () => {
      inventory.put(seen(digest('a', '1')));
      return given.at(-1);
    };
    return { inventory, holds };
  }

  test('when it is listed as the picture has it', () => {
    const known = digest('a', '5');
    const { inventory, holds } = beginHolding([known]);
    inventory.put(seen(digest('a', '5')));
    expect(holds()).toBe(known);
  });

  test('when the picture shows what was published, before or after the answer', () => {
    for (const isBefore of [true, false]) {
      const { inventory, holds } = beginHolding([]);
      inventory.put(seen(digest('a', '5')));
      const message = inventory.take('shop/web-0');
      const shown = digest('a', '5');
      if (!isBefore) message?.onStored();
      inventory.share({ resource: 'pods', ...seen(shown) });
      if (isBefore) message?.onStored();
      expect(holds()).toBe(shown);
      expect(inventory.take('shop/web-0')).toBeNull();
    }
  });

  test('in part, when it differs in part', () => {
    const known = digest('a', '5');
    const { inventory, holds } = beginHolding([known]);
    inventory.put(seen(digest('a', '7', { deleting: true })));
    expect(holds()?.labels).toBe(known.labels);
    expect(holds()).toMatchObject({ resourceVersion: '7', deleting: true });
  });

  test('what the picture shows of an earlier version changes nothing', () => {
    const { inventory, holds } = beginHolding([]);
    const own = digest('a', '7');
    inventory.put(seen(own));
    inventory.share({ resource: 'pods', ...seen(digest('a', '6')) });
    expect(holds()).toBe(own);
  });
});
