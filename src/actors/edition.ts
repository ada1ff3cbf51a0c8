/**
 * Editions of loaded features: the fields that replicas compare, and what the engine needs to know of a
 * feature's edition.
 */
import type { Chart } from '../machines/chart.ts';

/** Identifies one form of a feature; replicas compare editions. */
export interface Edition {
  /** Semantic version. */
  readonly version: string;
  /**
   * Of its charts, messages and watches. Features with different fingerprints differ, whatever their
   * versions.
   */
  readonly fingerprint: string;
}

/** What matters of a feature for where its actors live. */
export interface Housed {
  readonly name: string;
  readonly kinds: ReadonlyArray<{ readonly chart: Chart }>;
  readonly edition?: Edition;
}
