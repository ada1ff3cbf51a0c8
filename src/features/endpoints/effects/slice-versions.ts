/** Versions of EndpointSlices: those of one kind of object are numbers that grow. */
import type { StandingSlice } from '../packing/slices.ts';

/** '' is older than everything. */
export function isOlder(a: string, b: string): boolean {
  return a.length === b.length ? a < b : a.length < b.length;
}

/** '' if there are none. */
export function newestOf(slices: readonly StandingSlice[]): string {
  return slices.reduce(
    (newest, { resourceVersion }) => (isOlder(newest, resourceVersion) ? resourceVersion : newest),
    '',
  );
}
