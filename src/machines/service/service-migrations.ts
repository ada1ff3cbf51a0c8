/** What earlier versions of the service chart kept, brought to the next version. */
import type { StoredState } from '../chart.ts';
import { noSlices } from './slices-context.ts';

/** Version 2 keeps EndpointSlices; in version 1 that region stood in `ignored` and remembered nothing. */
export function withSlices({ value, context }: StoredState): StoredState {
  return { value, context: { ...(context as object), slices: noSlices } };
}
