/** The effect of the service chart's endpoints region. */
import { effect } from '../effect.ts';
import type { SlicesFailed } from './slices-events.ts';

export interface Gathering {
  readonly quietMs: number;
  readonly maxMs: number;
  /** A Service with many slices gathers for this long for each of them, up to 2 s, if that is longer. */
  readonly perSliceMs?: number;
}

/**
 * One pass over the EndpointSlices of a Service: waits for a short quiet moment, compares their desired with
 * their present content, and writes the difference. Outcome: slices.reconciled | slices.failed |
 * slices.unlisted.
 */
export interface SlicesReconcile {
  readonly type: 'endpoint-slices.reconcile';
  readonly namespace: string;
  readonly name: string;
  readonly pass: number;
  /**
   * Begins once nothing has changed for `quietMs`, at the latest after `maxMs`: many changes become one
   * write.
   */
  readonly gather: Gathering & {
    /**
     * Applies if changes have not stopped by `maxMs`, and, with a longer `quietMs`, after the removal of an
     * endpoint; its own `maxMs` counts from the same beginning.
     */
    readonly burst?: Gathering;
  };
  /**
   * The newest resourceVersion that a pass left; a pass that knows only older ones reads the slices first.
   */
  readonly version: string;
  /**
   * The same for a pass and its repetitions after a failure. The names of new slices follow from it, so that
   * a slice whose creation was never answered is found instead of created twice. Absent in records of 0.1.0.
   */
  readonly series?: number;
  /** When the last pass ended, ms since the epoch; 0: there was none. */
  readonly since: number;
  /** Also empties slices that are mostly empty. */
  readonly compact: boolean;
}

export const slicesReconcile = effect<SlicesReconcile>('endpoint-slices.reconcile', {
  failure: ({ pass }, message): SlicesFailed => ({
    type: 'slices.failed',
    pass,
    message,
    retryAfterMs: 0,
    end: null,
  }),
});
