/** What earlier versions of the service chart kept, brought to the next version. */
import type { StoredState } from '../chart.ts';
import { noSlices } from './slices-context.ts';

/** Version 2 keeps EndpointSlices; in version 1 that region stood in `ignored` and remembered nothing. */
export function withSlices({ value, context }: StoredState): StoredState {
  return { value, context: { ...(context as object), slices: noSlices } };
}

type Wants = ReadonlyArray<Readonly<Record<string, unknown>>>;

/**
 * Version 3 counts misses for each watched Pod, keeps answers for Pods that have not asked yet, and waits for
 * each Service's word on the header. A round that version 2 had in work looked for watched Pods only if
 * nobody else was wanted; its misses are counted by the next.
 */
export function withOwnMisses({ value, context }: StoredState): StoredState {
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
      // A verdict may have rested on silence: it is asked for once more.
      header: before.header === 'no' ? 'unknown' : before.header,
      inquirers: [],
      unseen: [],
    },
  };
}
