/** Migrations of the service chart's records. */
import type { Migration, StoredState } from '../chart.ts';
import { noSlices, type SlicesContext } from './slices-context.ts';

/** Version 2 keeps EndpointSlices. In version 1 that region was always `ignored` and remembered nothing. */
function withSlices({ value, context }: StoredState): StoredState {
  return { value, context: { ...(context as object), slices: noSlices } };
}

type Wants = ReadonlyArray<Readonly<Record<string, unknown>>>;

/**
 * Version 3 counts misses for each watched Pod, keeps answers for Pods that have not asked yet, and waits for
 * every Service's word on the header. In version 2, a round looked for watched Pods only if nobody else was
 * wanted; if one is in progress, the next round counts its misses.
 */
function withOwnMisses({ value, context }: StoredState): StoredState {
  const before = context as { readonly wants?: Wants; readonly watched?: Wants; readonly header: string };
  const added = (want: Wants[number]) => ({ ...want, lookedAt: want.at, curious: false });
  return {
    value,
    context: {
      ...before,
      wants: (before.wants ?? []).map(added),
      watched: (before.watched ?? []).map(added),
      met: {},
      startedAt: 0,
      checking: [],
      mixed: true,
      // A verdict may have rested on silence, so it is asked for once more.
      header: before.header === 'no' ? 'unknown' : before.header,
      inquirers: [],
      unseen: [],
    },
  };
}

/** Version 3 differs in both regions. */
function withOwnMissesAndPaces(stored: StoredState): StoredState {
  return withPaces(withOwnMisses(stored));
}

/** What only version 2 kept. */
interface BurstingSlices extends SlicesContext {
  readonly burst?: number;
  readonly compacting?: boolean;
}

/**
 * Version 3 has a state for each pace of passes, where version 2 counted. It also tries on when a Service is
 * stuck, where version 2 had given up without a deadline: the first news from its new owner begins a try.
 */
function withPaces({ value, context }: StoredState): StoredState {
  const slices: BurstingSlices = (context as { slices?: BurstingSlices }).slices ?? noSlices;
  const { burst: _burst, compacting: _compacting, ...kept } = slices;
  const { facts, done, pass } = slices;
  const next: SlicesContext = {
    ...noSlices,
    ...kept,
    good: done === null ? 0 : pass,
    facts: facts && { ...facts, otherWriter: '' },
  };
  return { value: pacedValue(value, slices), context: { ...(context as object), slices: next } };
}

function pacedValue(value: unknown, slices: BurstingSlices): unknown {
  const { endpoints } = (value ?? {}) as { endpoints?: unknown };
  if (endpoints === 'reconciling')
    return { ...(value as object), endpoints: { reconciling: paceOf(slices) } };
  if (endpoints === 'stuck') return { ...(value as object), endpoints: { stuck: 'awaitingLists' } };
  return value;
}

function paceOf({ endedAt, failures, burst = 0, compacting }: BurstingSlices): string {
  if (compacting) return 'compacting';
  if (failures > 0) return 'retrying';
  if (endedAt === 0) return 'first';
  return ['alone', 'burst'][burst] ?? 'flood';
}

/** The parent that version 4 has for states of version 3. Their deadlines kept their names. */
const parents = {
  routes: {
    idle: 'resting',
    settled: 'resting',
    watching: 'resting',
    pausing: 'waiting',
    waking: 'waiting',
  },
  endpoints: { current: 'written', sparse: 'written', settling: 'written' },
} as const satisfies Record<string, Readonly<Record<string, string>>>;

const underParents: Migration = ({ value, context }) => {
  const regions = Object.entries(typeof value === 'object' && value !== null ? value : {});
  const moved = regions.map(([region, state]) => [region, moving(parents, region, state)]);
  return { value: regions.length === 0 ? value : Object.fromEntries(moved), context };
};

function moving(
  all: Readonly<Record<string, Readonly<Record<string, string>>>>,
  region: string,
  state: unknown,
) {
  const parent = typeof state === 'string' ? all[region]?.[state] : undefined;
  return parent === undefined ? state : { [parent]: state };
}

export const serviceMigrations: Readonly<Record<number, Migration>> = {
  1: withSlices,
  2: withOwnMissesAndPaces,
  3: underParents,
};
