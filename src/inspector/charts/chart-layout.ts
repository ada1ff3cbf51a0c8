/**
 * The form of a chart's drawing: where its states, arrows and labels lie. Made at build time
 * (scripts/layouts.ts), shipped as data, drawn by the page. Types alone.
 *
 * All lengths are pixels at scale 1; y grows downwards; every position is in the drawing, not in a parent.
 */
import type { ChartState } from './chart-tree.ts';

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

/** A transition by the state that has it and its place in `ChartState.transitions`. */
export interface TransitionRef {
  readonly source: string;
  readonly index: number;
}

/** A line of text inside a state, or a part of an arrow's label. */
export interface DrawnText {
  readonly text: string;
  /** Stands behind the text: `[isGone]`. */
  readonly guard?: string;
  readonly tone: 'event' | 'guard' | 'delay' | 'effect' | 'exit' | 'more';
  /** Absent: the line stands for no single transition (an effect on entry, a count). */
  readonly of?: TransitionRef;
  /** Where an exit leads, for a line that stands in place of an arrow. */
  readonly to?: string;
}

export interface DrawnState extends Box {
  readonly path: string;
  /** Height of the part that holds name and lines; what is below belongs to the states inside. */
  readonly headHeight: number;
  readonly lines: readonly DrawnText[];
}

export interface DrawnEdge {
  /**
   * Path of the state it leaves; the states of a composite one together: `<path>*`; its beginning: `<path>•`.
   */
  readonly from: string;
  readonly to: string;
  readonly transitions: readonly TransitionRef[];
  readonly points: readonly Point[];
  readonly label: (Box & { readonly lines: readonly DrawnText[] }) | null;
}

/** Something drawn that is no state: the dot where a composite state begins, or "any state" inside it. */
export interface DrawnMark extends Box {
  readonly kind: 'start' | 'any';
  /** The composite state it lies in. */
  readonly path: string;
}

export interface ChartLayout {
  readonly machine: string;
  readonly version: number;
  readonly description: string;
  /** Of the chart that was laid out: the drawing is right while the machine's is the same. */
  readonly fingerprint: string;
  readonly width: number;
  readonly height: number;
  /** Outer ones before inner ones. */
  readonly states: readonly DrawnState[];
  readonly marks: readonly DrawnMark[];
  readonly edges: readonly DrawnEdge[];
  readonly chart: ChartState;
}
