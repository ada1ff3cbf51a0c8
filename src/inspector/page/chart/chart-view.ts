/**
 * Draws a statechart: the active path, the arrows taken last, and those that may be taken next.
 *
 * The layout decides all places. The camera (camera.ts) moves over the drawing.
 */
import type { ActorView } from '../../../base/views.ts';
import type { ChartLayout, DrawnEdge, DrawnState, DrawnText, Point } from '../../charts/chart-layout.ts';
import { countdown } from '../pieces.ts';
import { html, useMemo, type VNode } from '../vendor.ts';
import { activePaths } from './drawings.ts';
import { isDelay, possibleFrom, type RefKey, refKey } from './taken.ts';

export interface ChartMoment {
  /** As in `ActorView.state`. */
  readonly state: string;
  readonly taken: ReadonlySet<RefKey>;
  /** Increases with each step, so that an arrow taken twice is animated twice. */
  readonly turn: number;
  /** Running deadlines; none while the past is shown. */
  readonly timers: ActorView['timers'];
  readonly now: number;
}

const lineHeight = 15;
const labelHeight = 14;

export function ChartDrawing({ layout, moment }: { layout: ChartLayout; moment: ChartMoment }): VNode {
  const { state, taken, turn } = moment;
  const active = useMemo(() => activePaths(state), [state]);
  const possible = useMemo(() => possibleFrom(layout, state), [layout, state]);
  const tags = useMemo(() => tagsOf(layout), [layout]);
  // Cached, because only deadlines change between two steps.
  const drawing = useMemo(
    () => drawingOf(layout, active, possible, tags, taken, turn),
    [layout, active, possible, tags, taken, turn],
  );
  return html`${drawing}<${Countdowns} layout=${layout} moment=${moment} active=${active} />`;
}

function drawingOf(
  layout: ChartLayout,
  active: ReadonlySet<string>,
  possible: ReadonlySet<RefKey>,
  tags: ReadonlyMap<string, readonly string[]>,
  taken: ReadonlySet<RefKey>,
  turn: number,
): VNode {
  const edges = layout.edges.map((edge, index) => ({
    edge,
    index,
    tone: toneOf(edge, taken, possible),
  }));
  // Important arrows are drawn last, on top.
  const order = { idle: 0, next: 1, taken: 2 };
  const sorted = edges.toSorted((a, b) => order[a.tone] - order[b.tone]);
  return html`<g class="chart">
    ${layout.states.map(
      (
        one,
      ) => html`<${StateBox} key=${one.path} state=${one} name=${nameOf(layout, one)} isActive=${active.has(one.path)}
      isLeaf=${isLeaf(layout, one)} isWrong=${tags.get(one.path)?.includes('wrong')} isFinal=${tags.get(one.path)?.includes('final')} taken=${taken} possible=${possible} />`,
    )}
    ${layout.marks.map((mark) =>
      mark.kind === 'start'
        ? html`<circle class="start" cx=${mark.x + mark.width / 2} cy=${mark.y + mark.height / 2} r="5" />`
        : html`<g class="any ${active.has(mark.path) ? 'next' : ''}"><rect x=${mark.x} y=${mark.y} width=${mark.width} height=${mark.height} rx="11" />
            <text x=${mark.x + mark.width / 2} y=${mark.y + 15}>any state</text></g>`,
    )}
    ${sorted.map(({ edge, index, tone }) => html`<path key="e${index}" class="arrow ${tone}" d=${roundedPath(edge.points)} marker-end="url(#head-${tone})" />`)}
    ${sorted.map(({ edge, index, tone }) => tone === 'taken' && html`<path key="p${index}-${turn}" class="pulse" d=${roundedPath(edge.points)} pathLength="100" />`)}
    ${sorted.map(({ edge, index, tone }) => edge.label && html`<${Label} key="l${index}" label=${edge.label} tone=${tone} taken=${taken} possible=${possible} />`)}
  </g>`;
}

/** Arrow heads, one for each tone; defined once in the document. */
export function ChartDefinitions(): VNode {
  return html`<defs>${['idle', 'next', 'taken'].map(
    (tone) => html`<marker id="head-${tone}" class="head ${tone}" viewBox="0 0 10 10" refX="9" refY="5"
    markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0.8L10 5L0 9.2L2.4 5z" /></marker>`,
  )}</defs>`;
}

type Tone = 'idle' | 'next' | 'taken';

function toneOf(edge: DrawnEdge, taken: ReadonlySet<RefKey>, possible: ReadonlySet<RefKey>): Tone {
  const keys = edge.transitions.map(refKey);
  if (keys.some((key) => taken.has(key))) return 'taken';
  return keys.some((key) => possible.has(key)) ? 'next' : 'idle';
}

function StateBox({
  state,
  name,
  isActive,
  isLeaf,
  isWrong,
  isFinal,
  taken,
  possible,
}: {
  state: DrawnState;
  name: string;
  isActive: boolean;
  isLeaf: boolean;
  isWrong?: boolean;
  isFinal?: boolean;
  taken: ReadonlySet<RefKey>;
  possible: ReadonlySet<RefKey>;
}): VNode {
  const { path, x, y, width, height, lines } = state;
  const kind = path === '' ? 'root' : isLeaf ? 'leaf' : 'composite';
  const classes = [
    'state',
    kind,
    isActive ? 'active' : '',
    isWrong ? 'wrong' : '',
    isFinal ? 'final' : '',
  ].join(' ');
  return html`<g class=${classes} data-path=${path}>
    <rect x=${x} y=${y} width=${width} height=${height} rx=${path === '' ? 12 : 8} />
    ${isFinal && html`<rect class="inner" x=${x + 3} y=${y + 3} width=${width - 6} height=${height - 6} rx="5.5" />`}
    ${isWrong && html`<path class="warn" transform="translate(${x + width - 21} ${y + 10})" d="M5.5 0L11 10H0z" />`}
    <text class="name" x=${x + 12} y=${y + 21}>${name}</text>
    ${lines.map((line, index) => html`<text class="line ${line.tone} ${toneOfLine(line, taken, possible)}" x=${x + 12} y=${y + 22 + 6 + 10 + index * lineHeight}>${line.text}</text>`)}
  </g>`;
}

function toneOfLine({ of }: DrawnText, taken: ReadonlySet<RefKey>, possible: ReadonlySet<RefKey>): Tone {
  if (!of) return 'idle';
  if (taken.has(refKey(of))) return 'taken';
  return possible.has(refKey(of)) ? 'next' : 'idle';
}

function Label({
  label,
  tone,
  taken,
  possible,
}: {
  label: NonNullable<DrawnEdge['label']>;
  tone: Tone;
  taken: ReadonlySet<RefKey>;
  possible: ReadonlySet<RefKey>;
}): VNode {
  const { x, y, width, height, lines } = label;
  return html`<g class="label ${tone}">
    <rect x=${x} y=${y} width=${width} height=${height} rx="4" />
    ${lines.map(
      (
        line,
        index,
      ) => html`<text class="${line.tone} ${toneOfLine(line, taken, possible)}" x=${x + 5} y=${y + 12 + index * labelHeight} xml:space="preserve">
      ${line.text}${line.guard && html`<tspan class="guard">${line.text === '' ? '' : ' '}${line.guard}</tspan>`}
    </text>`,
    )}
  </g>`;
}

/** Running deadlines are shown at their arrows, and at the lines of those without a target. */
function Countdowns({
  layout,
  moment,
  active,
}: {
  layout: ChartLayout;
  moment: ChartMoment;
  active: ReadonlySet<string>;
}): VNode[] {
  const { timers, now } = moment;
  if (timers.length === 0) return [];
  const places = [
    ...layout.edges.flatMap(({ label }) =>
      label ? label.lines.map((line) => ({ line, x: label.x, y: label.y - 17 })) : [],
    ),
    ...layout.states.flatMap((state) =>
      state.lines.map((line) => ({
        line,
        x: state.x + state.width - 16,
        y: state.y + state.headHeight - 22,
      })),
    ),
  ];
  return places.flatMap(({ line: { tone, of }, x, y }) => {
    if (tone !== 'delay' || !of || !active.has(of.source)) return [];
    const trigger = triggerOf(layout, of.source, of.index);
    const timer = trigger && timers.find(({ event }) => isDelay(trigger, event));
    if (!timer) return [];
    const text = countdown(timer.at, now);
    const width = text.length * 6.4 + 14;
    return html`<g class="countdown" transform="translate(${x} ${y})"><rect width=${width} height="18" rx="9" /><text x=${width / 2} y="12.5">${text}</text></g>`;
  });
}

function triggerOf(layout: ChartLayout, path: string, index: number): string | undefined {
  let state = layout.chart;
  for (const word of path.split('.').filter(Boolean)) {
    const inner = state.children.find(({ name }) => name === word);
    if (!inner) return undefined;
    state = inner;
  }
  return state.transitions[index]?.trigger;
}

function tagsOf(layout: ChartLayout): ReadonlyMap<string, readonly string[]> {
  const tags = new Map<string, readonly string[]>();
  const visit = (state: ChartLayout['chart']) => {
    tags.set(state.path, [...state.tags, ...(state.type === 'final' ? ['final'] : [])]);
    state.children.forEach(visit);
  };
  visit(layout.chart);
  return tags;
}

function isLeaf(layout: ChartLayout, { path }: DrawnState): boolean {
  return !layout.states.some(
    (other) => other.path !== path && (path === '' || other.path.startsWith(`${path}.`)),
  );
}

function nameOf({ machine }: ChartLayout, { path }: DrawnState): string {
  return path === '' ? machine : path.slice(path.lastIndexOf('.') + 1);
}

/** A path with right angles and round corners. */
function roundedPath(points: readonly Point[]): string {
  const radius = 7;
  return points
    .map((point, index) => {
      const [before, after] = [points[index - 1], points[index + 1]];
      if (!before) return `M${point.x} ${point.y}`;
      if (!after) return `L${point.x} ${point.y}`;
      const [enter, leave] = [towards(point, before, radius), towards(point, after, radius)];
      return `L${enter.x} ${enter.y}Q${point.x} ${point.y} ${leave.x} ${leave.y}`;
    })
    .join('');
}

function towards(from: Point, to: Point, length: number): Point {
  const distance = Math.hypot(to.x - from.x, to.y - from.y);
  const part = Math.min(length, distance / 2) / Math.max(distance, 0.001);
  return { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part };
}
