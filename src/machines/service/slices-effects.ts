/** The effect of the Service chart's endpoints region. */

/**
 * One pass over the EndpointSlices of a Service: waits for a short quiet moment, compares what they must say with what they say, and
 * writes the difference. Outcome: slices.reconciled | slices.failed.
 */
export interface SlicesReconcile {
  readonly type: 'endpoint-slices.reconcile';
  readonly namespace: string;
  readonly name: string;
  readonly pass: number;
  /** Begins when nothing has changed for `quietMs`, at the latest after `maxMs`: many changes become one write. */
  readonly gather: { readonly quietMs: number; readonly maxMs: number };
  /** The newest resourceVersion that a pass left; who knows only older ones reads the slices first. */
  readonly version: string;
  /** The last pass failed: what it has left is read first. */
  readonly reread: boolean;
  /** When the last pass ended, ms since the epoch; 0: there was none. */
  readonly since: number;
  /** Also empties slices that are hardly filled. */
  readonly compact: boolean;
}
