/**
 * The window onto a chart: follows the active states, shows the whole, or stays where a person put it (drag,
 * wheel with Ctrl, buttons, touch).
 */
import type { Box, ChartLayout } from '../../charts/chart-layout.ts';
import { activePaths } from './drawings.ts';
import type { RefKey } from './taken.ts';
import { refKey } from './taken.ts';

export interface View {
  /** The top left corner in the drawing, and the number of screen pixels for each of its pixels. */
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

export type CameraMode = 'follow' | 'whole' | 'free';

const margin = 28;
const scales = { min: 0.05, max: 2.5, readable: 0.8, largest: 1.15 } as const;

/** Everything, as large as it fits. */
export function wholeView(layout: ChartLayout, width: number, height: number): View {
  return viewOf({ x: 0, y: 0, width: layout.width, height: layout.height }, width, height, scales.largest);
}

/**
 * The active states with their sources and possible targets, if that is readable; otherwise the active
 * states. The whole chart if that is readable.
 */
export function followView(
  layout: ChartLayout,
  state: string,
  taken: ReadonlySet<RefKey>,
  width: number,
  height: number,
): View {
  const whole = wholeView(layout, width, height);
  if (whole.scale >= scales.readable) return whole;
  const active = activePaths(state);
  const leaves = new Set(mainLeaves(layout, state, taken));
  const near = boxesNear(layout, active, leaves, taken);
  const own = layout.states.filter(({ path }) => leaves.has(path));
  const wanted = viewOf(around([...own, ...near]), width, height, 1);
  if (wanted.scale >= scales.readable) return clamped(wanted, layout, width, height);
  return clamped(centredOn(around(own), width, height, scales.readable), layout, width, height);
}

/**
 * Of regions too far apart for one view, the one with the arrows taken last is followed; of several, or
 * without arrows, the largest, because most happens there.
 */
function mainLeaves(layout: ChartLayout, state: string, taken: ReadonlySet<RefKey>): string[] {
  const leaves = state.split(',');
  const moved = new Set([...taken].map(regionOf));
  const movedLeaves = leaves.filter((leaf) => moved.has(regionOf(leaf)));
  const near = movedLeaves.length > 0 ? movedLeaves : leaves;
  const sizeOf = (leaf: string) => {
    const region = layout.states.find(({ path }) => path === regionOf(leaf));
    return region ? region.width * region.height : 0;
  };
  const most = Math.max(...near.map(sizeOf));
  return near.filter((leaf) => sizeOf(leaf) === most);
}

const regionOf = (place: string) => place.split(/[.#]/, 1)[0];

function boxesNear(
  layout: ChartLayout,
  active: ReadonlySet<string>,
  leaves: ReadonlySet<string>,
  taken: ReadonlySet<RefKey>,
): Box[] {
  return layout.edges.flatMap((edge) => {
    const wasTaken = edge.transitions.some((ref) => taken.has(refKey(ref)));
    const leavesActive = active.has(edge.from) && edge.from !== '' && leaves.has(edge.from);
    if (!wasTaken && !leavesActive) return [];
    const ends = layout.states.filter(({ path }) => path === edge.to || path === edge.from);
    return [...ends, ...(edge.label ? [edge.label] : [])];
  });
}

export function zoomed(view: View, factor: number, atX: number, atY: number): View {
  const scale = Math.min(scales.max, Math.max(scales.min, view.scale * factor));
  // The point under the pointer stays in place.
  return { scale, x: view.x + atX / view.scale - atX / scale, y: view.y + atY / view.scale - atY / scale };
}

export function between(from: View, to: View, part: number): View {
  const eased = part < 0.5 ? 4 * part ** 3 : 1 - (-2 * part + 2) ** 3 / 2;
  const mix = (a: number, b: number) => a + (b - a) * eased;
  return { x: mix(from.x, to.x), y: mix(from.y, to.y), scale: mix(from.scale, to.scale) };
}

function viewOf(box: Box, width: number, height: number, scaleMax: number): View {
  const fit = Math.min(
    (width - 2 * margin) / Math.max(1, box.width),
    (height - 2 * margin) / Math.max(1, box.height),
  );
  return centredOn(box, width, height, Math.min(scaleMax, Math.max(scales.min, fit)));
}

function centredOn(box: Box, width: number, height: number, scale: number): View {
  return {
    scale,
    x: box.x + box.width / 2 - width / 2 / scale,
    y: box.y + box.height / 2 - height / 2 / scale,
  };
}

/** Never shows space beyond one edge while the drawing is cut off at the other. */
function clamped(view: View, layout: ChartLayout, width: number, height: number): View {
  const gap = margin / view.scale;
  const place = (at: number, seen: number, all: number) =>
    seen >= all + 2 * gap ? (all - seen) / 2 : Math.min(Math.max(at, -gap), all + gap - seen);
  return {
    scale: view.scale,
    x: place(view.x, width / view.scale, layout.width),
    y: place(view.y, height / view.scale, layout.height),
  };
}

function around(boxes: readonly Box[]): Box {
  const [first] = boxes;
  if (!first) return { x: 0, y: 0, width: 1, height: 1 };
  const left = Math.min(...boxes.map(({ x }) => x));
  const top = Math.min(...boxes.map(({ y }) => y));
  const right = Math.max(...boxes.map(({ x, width }) => x + width));
  const bottom = Math.max(...boxes.map(({ y, height }) => y + height));
  return { x: left, y: top, width: right - left, height: bottom - top };
}
