/**
 * The form of a chart's drawing: the places of its states, arrows and labels. Computed at build time
 * (scripts/layouts.ts), shipped as data, drawn by the page. Types only.
 *
 * Lengths are pixels at scale 1; y grows downwards; positions are relative to the drawing, not to a parent.
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

/** A transition, by its state and its index in `ChartState.transitions`. */
export interface TransitionRef {
  readonly source: string;
  readonly index: number;
}

/** A line of text inside a state, or a part of an arrow's label. */
export interface DrawnText {
  readonly text: string;
  /** Shown after the text: `[isGone]`. */
  readonly guard?: string;
  readonly tone: 'event' | 'guard' | 'delay' | 'effect' | 'exit' | 'more';
  /** Absent: the line is for no single transition (an effect on entry, a count). */
  readonly of?: TransitionRef;
  /** The target, for a line that replaces an arrow. */
  readonly to?: string;
}

export interface DrawnState extends Box {
  readonly path: string;
  /** Height of the part with name and lines; nested states are below it. */
  readonly headHeight: number;
  readonly lines: readonly DrawnText[];
}

export interface DrawnEdge {
  /** Path of the source state; `<path>*` for all states of a composite; `<path>•` for its initial dot. */
  readonly from: string;
  readonly to: string;
  readonly transitions: readonly TransitionRef[];
  readonly points: readonly Point[];
  readonly label: (Box & { readonly lines: readonly DrawnText[] }) | null;
}

/** A drawn mark that is no state: the initial dot of a composite state, or "any state" inside it. */
export interface DrawnMark extends Box {
  readonly kind: 'start' | 'any';
  /** The enclosing composite state. */
  readonly path: string;
}

export interface ChartLayout {
  readonly machine: string;
  readonly version: number;
  readonly description: string;
  /** Of the chart that was laid out: the drawing is valid while the machine has the same fingerprint. */
  readonly fingerprint: string;
  readonly width: number;
  readonly height: number;
  /** Outer ones before inner ones. */
  readonly states: readonly DrawnState[];
  readonly marks: readonly DrawnMark[];
  readonly edges: readonly DrawnEdge[];
  readonly chart: ChartState;
}
