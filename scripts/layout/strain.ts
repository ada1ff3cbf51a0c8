/**
 * Rates how hard a drawing is to read, as one number: crossings first, then the length of arrows, size, and a
 * shape unlike a screen's. Pure.
 */
import type { ChartLayout, Point } from '../../src/inspector/charts/chart-layout.ts';

interface Segment {
  readonly edge: number;
  readonly a: Point;
  readonly b: Point;
}

/** Weights found by eye: a crossing costs as much as 400 px more of an arrow. */
const weight = { crossing: 400, pixelsOfArea: 1 / 400, form: 1_500 } as const;
const bestForm = 1.2;

export function strain({ edges, width, height }: Pick<ChartLayout, 'edges' | 'width' | 'height'>): number {
  const segments = edges.flatMap(segmentsOf);
  const length = segments.reduce((sum, { a, b }) => sum + Math.abs(a.x - b.x) + Math.abs(a.y - b.y), 0);
  const form = Math.abs(Math.log(width / height / bestForm));
  return (
    crossings(segments) * weight.crossing + length + width * height * weight.pixelsOfArea + form * weight.form
  );
}

function segmentsOf({ points }: ChartLayout['edges'][number], edge: number): Segment[] {
  return points.flatMap((b, index) => {
    const a = points[index - 1];
    return a ? [{ edge, a, b }] : [];
  });
}

function crossings(segments: readonly Segment[]): number {
  let count = 0;
  for (const [index, one] of segments.entries()) {
    for (const other of segments.slice(index + 1))
      if (one.edge !== other.edge && doCross(one, other)) count++;
  }
  return count;
}

/** Arrows run along the axes. */
function doCross(one: Segment, other: Segment): boolean {
  const [upright, level] = one.a.x === one.b.x ? [one, other] : [other, one];
  if (upright.a.x !== upright.b.x || level.a.y !== level.b.y) return false;
  return isWithin(upright.a.x, level.a.x, level.b.x) && isWithin(level.a.y, upright.a.y, upright.b.y);
}

function isWithin(value: number, one: number, other: number): boolean {
  return value > Math.min(one, other) + 0.5 && value < Math.max(one, other) - 0.5;
}
