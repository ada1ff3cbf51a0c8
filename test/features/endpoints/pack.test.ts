/**
 * Packing against an oracle that knows nothing of it: random Services, workloads, ports, families, sizes and
 * histories; what stands after the writes must be what is wanted, by a way on which no endpoint that moves is
 * ever absent.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { IpFamily } from '../../../src/base/address.ts';
import type { SliceEndpoint } from '../../../src/features/endpoints/digests.ts';
import type { PlannedWrite } from '../../../src/features/endpoints/packing/order.ts';
import { pack } from '../../../src/features/endpoints/packing/pack.ts';
import {
  canonical,
  type StandingSlice,
  type WantedSlices,
  workloadOf,
} from '../../../src/features/endpoints/packing/slices.ts';
import { apply, endpoint, frame, sizesOf, slice, standingOf, wanted } from './slices.ts';

const quiet = { max: 100, compact: false };
const range = (count: number, from = 0) => Array.from({ length: count }, (_, at) => from + at);

describe('few writes', () => {
  test('a pass that changes nothing writes nothing, whatever the order of the workloads', () => {
    const standing = standingOf(wanted([['v4', 'http', range(250)]]), quiet);
    expect(sizesOf(standing)).toEqual([100, 100, 50]);
    expect(pack(wanted([['v4', 'http', range(250).reverse()]]), standing, quiet).writes).toEqual([]);
  });

  test('one endpoint that changes is one update, and the others of its slice stay in their places', () => {
    const standing = standingOf(wanted([['v4', 'http', range(250)]]), quiet);
    const next = wanted([['v4', 'http', range(250)]], { changed: [120] });
    const { writes } = pack(next, standing, quiet);
    expect(writes).toHaveLength(1);
    const [write] = writes;
    const before = standing.find(({ name }) => write?.operation === 'update' && name === write.slice.name);
    expect(write?.operation === 'update' && write.endpoints.map(workloadOf)).toEqual(
      before?.content.endpoints.map(workloadOf),
    );
  });

  test('new endpoints go to slices that are written anyway, the fullest first', () => {
    const standing = [slice('a', 'http', range(90)), slice('b', 'http', range(40, 100))];
    const next = wanted([['v4', 'http', [...range(89), ...range(40, 100), ...range(5, 200)]]]);
    const { writes } = pack(next, standing, quiet);
    expect(writes.map((write) => write.operation === 'update' && write.slice.name)).toEqual(['a']);
  });

  test('then to the fullest unchanged slice that takes all of them', () => {
    const standing = [
      slice('a', 'http', range(98)),
      slice('b', 'http', range(40, 100)),
      slice('c', 'http', range(30, 200)),
    ];
    const all = [...range(98), ...range(40, 100), ...range(30, 200)];
    const { writes } = pack(wanted([['v4', 'http', [...all, ...range(3, 300)]]]), standing, quiet);
    expect(writes.map((write) => write.operation === 'update' && write.slice.name)).toEqual(['b']);
  });

  test('then to new slices, full ones first', () => {
    const standing = [slice('a', 'http', range(100))];
    const { writes } = pack(wanted([['v4', 'http', range(330)]]), standing, quiet);
    expect(writes.map((write) => write.operation !== 'delete' && write.endpoints.length)).toEqual([
      100, 100, 30,
    ]);
    expect(new Set(writes.map(({ operation }) => operation))).toEqual(new Set(['create']));
  });

  test('a slice of which nothing is left is written anew instead of deleted, in its version', () => {
    const standing = [slice('a', 'http', range(10)), slice('b', 'http', range(10, 50))];
    const { writes } = pack(
      wanted([
        ['v4', 'http', range(10, 50)],
        ['v4', 'grpc', range(4, 100)],
      ]),
      standing,
      quiet,
    );
    expect(writes).toMatchObject([{ operation: 'update', slice: { name: 'a', resourceVersion: '1' } }]);
  });

  test('ports that change for all endpoints of a slice change in their place', () => {
    const standing = standingOf(wanted([['v4', 'http', range(300)]]), quiet);
    const { writes } = pack(wanted([['v4', 'grpc', range(300)]]), standing, quiet);
    expect(writes.map(({ operation, after }) => [operation, after.length])).toEqual([
      ['update', 0],
      ['update', 0],
      ['update', 0],
    ]);
  });

  test('§9.3: half of 1,000 endpoints deleted, from every slice: ten writes, and five slices are left', () => {
    const standing = standingOf(wanted([['v4', 'http', range(1_000)]]), quiet);
    const half = wanted([['v4', 'http', range(1_000).filter((n) => n % 2 === 0)]]);
    const { writes, compactable } = pack(half, standing, quiet);
    expect(writes.map(({ operation }) => operation)).toEqual([
      ...Array(5).fill('update'),
      ...Array(5).fill('delete'),
    ]);
    expect(compactable).toBe(false);
    const after = apply(standing, writes);
    expect(sizesOf(after)).toEqual([100, 100, 100, 100, 100]);
    expect(pack(half, after, quiet)).toEqual({ writes: [], compactable: false });
  });

  test('§4.4: the same where half of the slices are written anyway', () => {
    const standing = [0, 100, 200, 300].map((from) => slice(`s${from}`, 'http', range(50, from)));
    const fewer = wanted([
      ['v4', 'http', [...range(49), ...range(49, 100), ...range(50, 200), ...range(50, 300)]],
    ]);
    const { writes, compactable } = pack(fewer, standing, quiet);
    expect(writes.map(({ operation }) => operation)).toEqual(['update', 'update', 'delete', 'delete']);
    expect(compactable).toBe(false);
  });

  test('§4.4: where all of them are written anyway, there are no more than are needed', () => {
    const standing = standingOf(wanted([['v4', 'http', range(1_000)]]), quiet);
    const fewer = wanted([['v4', 'http', range(1_000).filter((n) => n % 10 < 7)]]);
    const { writes } = pack(fewer, standing, quiet);
    expect(writes).toHaveLength(10);
    expect(sizesOf(apply(standing, writes))).toEqual(Array(7).fill(100));
  });

  test('§4.4: where that would cost more, it waits until it is asked for', () => {
    const standing = [0, 100, 200, 300].map((from) => slice(`s${from}`, 'http', range(50, from)));
    const fewer = wanted([
      ['v4', 'http', [...range(49), ...range(50, 100), ...range(50, 200), ...range(50, 300)]],
    ]);
    const first = pack(fewer, standing, quiet);
    expect(first.writes.map(({ operation }) => operation)).toEqual(['update']);
    expect(first.compactable).toBe(true);
    const after = apply(standing, first.writes);
    const second = pack(fewer, after, { ...quiet, compact: true });
    const compacted = apply(after, second.writes);
    expect(sizesOf(compacted)).toEqual([100, 99]);
    expect(pack(fewer, compacted, quiet)).toEqual({ writes: [], compactable: false });
  });
});

describe('what goes', () => {
  test('slices of a family that the Service has no more are deleted', () => {
    const both = wanted([
      ['v4', 'http', range(3)],
      ['v6', 'http', range(3)],
    ]);
    const standing = standingOf(both, quiet);
    const { writes } = pack(wanted([['v4', 'http', range(3)]], { families: ['IPv4'] }), standing, quiet);
    expect(writes).toMatchObject([{ operation: 'delete', slice: { content: { addressType: 'IPv6' } } }]);
  });

  test('slices of an earlier Service of that name are not filled anew (docs/features/endpoints.md §5.8)', () => {
    const old = { ...slice('a', 'http', range(3)) };
    const content = { ...old.content, ownerReferences: [{ kind: 'Service', uid: 'earlier' }] };
    const { writes } = pack(wanted([['v4', 'http', range(3)]]), [{ ...old, content }], quiet);
    expect(writes.map(({ operation }) => operation)).toEqual(['create', 'delete']);
  });

  test('a Service that is being deleted gets no new slices', () => {
    const { writes } = pack(wanted([['v4', 'http', range(3)]], { mayCreate: false }), [], quiet);
    expect(writes).toEqual([]);
  });

  test('an endpoint that stands twice is taken out of one of its slices', () => {
    const standing = [slice('a', 'http', range(3)), slice('b', 'http', range(4))];
    const after = apply(standing, pack(wanted([['v4', 'http', range(4)]]), standing, quiet).writes);
    expect(sizesOf(after)).toEqual([4]);
  });

  test('a lower limit moves what is too much, and nothing is absent meanwhile', () => {
    const standing = [slice('a', 'http', range(100))];
    const { writes } = pack(wanted([['v4', 'http', range(100)]]), standing, { max: 30, compact: false });
    expect(writes.map(({ operation }) => operation)).toEqual(['create', 'create', 'create', 'update']);
    expect(writes[3]?.after).toEqual([0, 1, 2]);
  });
});

describe('an endpoint that moves', () => {
  test('stands in its new slice before it leaves the old one', () => {
    const standing = [slice('a', 'http', range(10)), slice('b', 'grpc', range(10, 50))];
    const next = wanted([
      ['v4', 'http', range(9)],
      ['v4', 'grpc', [...range(10, 50), 9]],
    ]);
    const { writes } = pack(next, standing, quiet);
    expect(writes).toMatchObject([
      { operation: 'update', slice: { name: 'b' }, after: [] },
      { operation: 'update', slice: { name: 'a' }, after: [0] },
    ]);
  });

  test('stands as it is wanted before it leaves the slice in which it does, also where another lists it', () => {
    const theirs = { ...slice('b', 'http', range(12)), labels: { look: 'theirs' } };
    const stale = standingOf(wanted([['v4', 'http', range(12)]], { changed: [3] }), quiet);
    for (const other of [theirs, ...stale]) {
      const next = wanted([['v4', 'http', range(12)]]);
      expect(pack(next, [slice('a', 'http', range(10)), other], quiet).writes).toMatchObject([
        { operation: 'update', slice: { name: other.name }, after: [] },
        { operation: 'delete', slice: { name: 'a' }, after: [0] },
      ]);
    }
  });

  test('two slices that would exchange endpoints do it by way of a new one', () => {
    const standing = [slice('a', 'http', range(10)), slice('b', 'grpc', range(10, 50))];
    const next = wanted([
      ['v4', 'http', [...range(9), 50]],
      ['v4', 'grpc', [...range(9, 51), 9]],
    ]);
    const { writes } = pack(next, standing, quiet);
    expect(writes.map(({ operation }) => operation).sort()).toEqual(['create', 'update', 'update']);
    expect(absences(standing, writes, next)).toEqual([]);
  });
});

/**
 * Wanted endpoints that stood at the beginning and are missing after some write, the writes made one by one.
 */
function absences(
  standing: readonly StandingSlice[],
  writes: readonly PlannedWrite[],
  next: WantedSlices,
): string[] {
  const needed = next.groups.flatMap(({ family, endpoints }) =>
    endpoints.map((one) => `${family}/${workloadOf(one)}`),
  );
  const there = (slices: readonly StandingSlice[]) =>
    new Set(
      slices.flatMap(({ content }) =>
        content.endpoints.map((one) => `${content.addressType}/${workloadOf(one)}`),
      ),
    );
  const atFirst = there(standing);
  const missing: string[] = [];
  let now = standing;
  for (const [at, write] of writes.entries()) {
    if (write.after.some((before) => before >= at)) missing.push(`write ${at} waits for a later one`);
    now = apply(now, [write], at, next.labels);
    const present = there(now);
    for (const id of needed) if (atFirst.has(id) && !present.has(id)) missing.push(`${id} after write ${at}`);
  }
  return missing;
}

const someFamilies = fc.constantFrom<IpFamily[]>(['IPv4'], ['IPv6'], ['IPv4', 'IPv6']);

/** One state of a Service: who is there, with which ports, in which families, how it looks. */
const stateOf = fc.record({
  families: someFamilies,
  labels: fc.constantFrom('one', 'two'),
  members: fc.array(
    fc.record({
      id: fc.nat({ max: 40 }),
      ports: fc.constantFrom('http', 'grpc', 'none'),
      ready: fc.boolean(),
      families: someFamilies,
    }),
    { maxLength: 40 },
  ),
});
type State = typeof stateOf extends fc.Arbitrary<infer T> ? T : never;

function wantedOf({ families, labels, members }: State): WantedSlices {
  const byId = new Map(members.map((member) => [member.id, member]));
  const groups = new Map<string, WantedSlices['groups'][number] & { readonly endpoints: SliceEndpoint[] }>();
  for (const { id, ports, ready, families: own } of byId.values()) {
    for (const family of families.filter((one) => own.includes(one))) {
      const key = `${family}/${ports}`;
      const group = groups.get(key) ?? {
        family,
        ports: ports === 'none' ? [] : [{ name: ports, protocol: 'TCP', port: 80 }],
        endpoints: [],
      };
      group.endpoints.push(endpoint(id, family, ready));
      groups.set(key, group);
    }
  }
  return { ...frame, labels: { look: labels }, families, groups: [...groups.values()], mayCreate: true };
}

/** All that stands, as text, slices and order left out: what a client sees. */
function seen(entries: Iterable<readonly [family: string, ports: unknown, one: unknown]>): string[] {
  return [...entries].map((entry) => canonical(entry)).sort();
}

test('random histories: what stands is what is wanted, within the limit, without a needless write, and nobody is absent on the way', () => {
  const history = fc.record({
    states: fc.array(stateOf, { minLength: 1, maxLength: 6 }),
    max: fc.integer({ min: 1, max: 12 }),
    compact: fc.boolean(),
    vandal: fc.array(fc.nat({ max: 30 }), { maxLength: 2 }),
  });
  fc.assert(
    fc.property(history, ({ states, max, compact, vandal }) => {
      let standing: readonly StandingSlice[] = [];
      for (const [at, state] of states.entries()) {
        const next = wantedOf(state);
        const { writes } = pack(next, standing, { max, compact: compact && at % 2 === 1 });
        expect(absences(standing, writes, next)).toEqual([]);
        standing = apply(standing, writes, at * 1_000, next.labels);
        expect(
          seen(
            standing.flatMap(({ content }) =>
              content.endpoints.map((one) => [content.addressType, content.ports, one] as const),
            ),
          ),
        ).toEqual(
          seen(
            next.groups.flatMap(({ family, ports, endpoints }) =>
              endpoints.map((one) => [family, ports, one] as const),
            ),
          ),
        );
        expect(
          standing.every(({ content: { endpoints } }) => endpoints.length > 0 && endpoints.length <= max),
        ).toBe(true);
        expect(standing.every(({ labels }) => labels.look === state.labels)).toBe(true);
        expect(pack(next, standing, { max, compact: false }).writes).toEqual([]);
        const touched = new Set(
          writes.map((write) => (write.operation === 'create' ? '' : write.slice.name)),
        );
        expect(writes.filter(({ operation }) => operation !== 'create')).toHaveLength(
          touched.size - (touched.has('') ? 1 : 0),
        );
        // Somebody takes an endpoint out of a slice, or a whole slice.
        standing = standing.flatMap((one, place) => {
          if (!vandal.includes(place)) return [one];
          if (place % 2 === 0) return [];
          return [{ ...one, content: { ...one.content, endpoints: one.content.endpoints.slice(1) } }];
        });
      }
    }),
    { numRuns: 400 },
  );
});
