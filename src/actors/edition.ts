/** Editions of features that replicas load: what two of them compare, and what the engine knows of one. */
import type { Chart } from '../machines/chart.ts';

/** Which form of a feature it is: replicas compare it. */
export interface Edition {
  /** Semantic version. */
  readonly version: string;
  /**
   * Of its charts, messages and watches: two that differ are not the same feature, whatever their version.
   */
  readonly fingerprint: string;
}

/** A feature as far as it matters where its actors live. */
export interface Housed {
  readonly name: string;
  readonly kinds: ReadonlyArray<{ readonly chart: Chart }>;
  readonly edition?: Edition;
}
