/** A join in one replica (src/api/join.ts): what an actor is told of the objects that belong to its own. */
import { expect, test } from 'vitest';
import { join, related, v, watch } from '../../src/api/index.ts';
import { runJoin } from '../../src/api/join.ts';
import type { WorldEntry } from '../../src/base/digests.ts';
import { silentLog } from '../../src/base/log-port.ts';

const nodes = watch('v1/Node', { digest: v.object({}) });
const pods = watch('v1/Pod', { digest: v.object({ node: v.string() }) });
const asked = join(nodes, {
  with: { pods: related(pods, ({ node }) => [{ name: node }]) },
  facts: (_, found) => ({ pods: found.pods.map(({ namespace, name }) => `${namespace}/${name}`) }),
});

const digest = (kept: object) => ({
  ...{ kind: 'kept' as const, uid: 'u', resourceVersion: '1', createdAt: 0, deleting: false, labels: {} },
  kept,
});

function stage() {
  const world = {
    get: () => digest({}),
    entries: () => [{ namespace: '', name: 'worker' }],
    statement: () => ({}),
  };
  const own = runJoin(asked, { feature: 'f', kind: 'drain', world: world as never, log: silentLog });
  const put = (namespace: string, name: string) => {
    const entry = { resource: 'f/v1/Pod', namespace, name, digest: digest({ node: 'worker' }) };
    return [...own.fold(entry as unknown as WorldEntry, null)];
  };
  return { own, put };
}

test('what belongs to an object comes by namespace and name, in whatever order it came', () => {
  const { own, put } = stage();
  for (const [namespace, name] of [
    ['b', 'x'],
    ['a', 'y'],
    ['a', 'x'],
  ] as const)
    expect(put(namespace, name)).toEqual(['drain/_/worker']);
  const told = () => own.observe('drain', '_', 'worker')?.facts;
  expect(told()).toEqual({ pods: ['a/x', 'a/y', 'b/x'] });
  // Changed, and so kept anew: it stays where it was.
  put('a', 'x');
  expect(told()).toEqual({ pods: ['a/x', 'a/y', 'b/x'] });
});

test('every object is told of, and facts are worked out then', () => {
  expect([...stage().own.members()]).toEqual(['drain/_/worker']);
});
