/**
 * Lays a chart out: ELK decides where states, arrows and labels go; this file gives it its input and reads
 * its output.
 *
 * Promises: the same chart gives the same drawing. Text sizes are those of a monospaced font of 0.605 em,
 * wider than the fonts of common systems, so that labels fit everywhere.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import elk, { type ElkExtendedEdge, type ElkNode } from 'elkjs/lib/elk.bundled.js';
import type {
  Box,
  ChartLayout,
  DrawnEdge,
  DrawnMark,
  DrawnState,
  DrawnText,
  Point,
} from '../../src/inspector/charts/chart-layout.ts';
import type { ChartState } from '../../src/inspector/charts/chart-tree.ts';
import { statesOf } from '../../src/inspector/charts/chart-tree.ts';
import { chartOf } from '../../src/inspector/charts/machine-view.ts';
import type { Chart } from '../../src/machines/chart.ts';
import { type Arrow, type Drawn, drawnTransitions } from './drawn-transitions.ts';
import { strain } from './strain.ts';

const em = { name: 13, line: 10.5, label: 10.5 } as const;
const widthPerEm = 0.605;
const lineHeight = { name: 22, line: 15, label: 14 } as const;
const padding = 12;
/** Between a composite state and its content. */
const sidePadding = 16;
const startSize = 10;
/** Prefix of the ids of edges that are not drawn. */
const stacking = 'stacking ';

/** The rules of the layout are these files. */
const rules = ['chart-layout.ts', 'drawn-transitions.ts', 'strain.ts'].map((name) =>
  readFileSync(join(import.meta.dirname, name), 'utf8'),
);

/** Identifies what a drawing depends on: the chart, and the rules of the layout. */
export function fingerprintOf(chart: Chart): string {
  const drawn = { chart: chartOf(chart), version: chart.version, description: chart.description, rules };
  return createHash('sha256').update(JSON.stringify(drawn)).digest('hex').slice(0, 16);
}

/** Lays the chart out in each of the ways below and takes the best drawing. */
export async function layoutOf(chart: Chart): Promise<ChartLayout> {
  const root = chartOf(chart);
  const drawn = drawnTransitions(root, new Set(chart.effects.map(({ type }) => type)));
  let best: Geometry | undefined;
  const isParallel = [...statesOf(root)].some(({ type }) => type === 'parallel');
  for (const way of ways) {
    if (way.isStacked && !isParallel) continue;
    const geometry = await laidOut(root, drawn, way);
    if (best === undefined || strain(geometry) < strain(best)) best = geometry;
  }
  const { name, version, description } = chart;
  if (best === undefined) throw new Error(`no layout of ${name}`);
  return { machine: name, version, description, fingerprint: fingerprintOf(chart), ...best, chart: root };
}

async function laidOut(root: ChartState, drawn: Drawn, way: Way): Promise<Geometry> {
  const first = await new elk.default().layout(graphOf(root, drawn, way, new Map()));
  const graph = await new elk.default().layout(graphOf(root, drawn, way, tooNarrow(root, drawn, first)));
  return {
    width: Math.ceil(graph.width ?? 0),
    height: Math.ceil(graph.height ?? 0),
    ...readGraph(graph, drawn),
  };
}

/**
 * Composite states whose head is wider than their content, which ELK does not see: path → the width that the
 * content must have.
 */
function tooNarrow(root: ChartState, drawn: Drawn, graph: ElkNode): Map<string, number> {
  const widths = new Map<string, number>();
  const visit = (node: ElkNode) => {
    widths.set(pathOf(node.id), node.width ?? 0);
    node.children?.forEach(visit);
  };
  visit(graph);
  return new Map(
    [...statesOf(root)].flatMap((state) => {
      const { width } = headOf(state, drawn.lines.get(state.path) ?? []);
      return (widths.get(state.path) ?? 0) < width ? [[state.path, width - 2 * sidePadding] as const] : [];
    }),
  );
}

type ElkOptions = Readonly<Record<string, string>>;
/** Whether regions are stacked, and the options for ELK. */
interface Way {
  readonly isStacked: boolean;
  readonly elk: ElkOptions;
}
type Geometry = Pick<ChartLayout, 'width' | 'height' | 'states' | 'marks' | 'edges'>;

/** No strategy is the best for every chart. */
const strategies: readonly ElkOptions[] = [
  'BFS_NODE_ORDER',
  'DFS_NODE_ORDER',
  'DEPTH_FIRST',
  'GREEDY',
].flatMap((cycles) =>
  ['NONE', 'NODES_AND_EDGES'].flatMap((order) =>
    ['NETWORK_SIMPLEX', 'LONGEST_PATH_SOURCE'].map((layers) => ({
      'elk.layered.cycleBreaking.strategy': cycles,
      'elk.layered.considerModelOrder.strategy': order,
      'elk.layered.layering.strategy': layers,
    })),
  ),
);

const ways: readonly Way[] = strategies.flatMap((elk) => [
  { isStacked: false, elk },
  { isStacked: true, elk },
]);

const options: ElkOptions = {
  'elk.algorithm': 'layered',
  'elk.direction': 'DOWN',
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX',
  'elk.layered.crossingMinimization.strategy': 'LAYER_SWEEP',
  'elk.layered.thoroughness': '40',
  'elk.edgeLabels.inline': 'true',
  'elk.layered.edgeLabels.sideSelection': 'ALWAYS_DOWN',
  'elk.spacing.nodeNode': '22',
  'elk.spacing.edgeNode': '14',
  'elk.spacing.edgeEdge': '10',
  'elk.spacing.edgeLabel': '4',
  'elk.layered.spacing.nodeNodeBetweenLayers': '20',
  'elk.layered.spacing.edgeNodeBetweenLayers': '10',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '7',
  'elk.json.edgeCoords': 'ROOT',
  'elk.json.shapeCoords': 'ROOT',
};

function graphOf(root: ChartState, drawn: Drawn, way: Way, widths: ReadonlyMap<string, number>): ElkNode {
  const marked = new Set(drawn.arrows.flatMap(({ from }) => (from.endsWith('*') ? [from] : [])));
  const inner = nodeOf(root, drawn, marked, widths);
  const starts = [...statesOf(root)].flatMap(({ path, initial, type }) =>
    initial === null || type === 'parallel'
      ? []
      : [{ from: `${path}•`, to: path === '' ? initial : `${path}.${initial}`, labels: [], transitions: [] }],
  );
  return {
    ...inner,
    layoutOptions: { ...inner.layoutOptions, ...options, ...way.elk },
    edges: [...[...starts, ...drawn.arrows].map(edgeOf), ...(way.isStacked ? stackingEdges(root) : [])],
  };
}

/** Invisible edges put each region one layer below the previous one. */
function stackingEdges(root: ChartState): ElkExtendedEdge[] {
  return [...statesOf(root)].flatMap(({ type, children }) =>
    type === 'parallel'
      ? children.slice(1).map((region, index) => ({
          id: `${stacking}${region.path}`,
          sources: [idOf(children[index]?.path ?? '')],
          targets: [idOf(region.path)],
        }))
      : [],
  );
}

function nodeOf(
  state: ChartState,
  drawn: Drawn,
  marked: ReadonlySet<string>,
  widths: ReadonlyMap<string, number>,
): ElkNode {
  const lines = drawn.lines.get(state.path) ?? [];
  const head = headOf(state, lines);
  if (state.children.length === 0) return { id: idOf(state.path), ...head };
  const marks: ElkNode[] = [
    ...(state.initial === null || state.type === 'parallel'
      ? []
      : [startOf(state.path, widths.get(state.path) ?? startSize)]),
    ...(marked.has(`${state.path}*`) ? [{ id: `${state.path}*`, width: 76, height: 22 }] : []),
  ];
  return {
    id: idOf(state.path),
    layoutOptions: {
      'elk.padding': `[top=${head.height + 8},left=${sidePadding},bottom=${sidePadding},right=${sidePadding}]`,
    },
    children: [...marks, ...state.children.map((child) => nodeOf(child, drawn, marked, widths))],
  };
}

function startOf(path: string, width: number): ElkNode {
  return {
    id: `${path}•`,
    width,
    height: startSize,
    layoutOptions: { 'elk.layered.layering.layerConstraint': 'FIRST' },
  };
}

function headOf(state: ChartState, lines: readonly DrawnText[]) {
  const name = textWidth(state.name, em.name) + (state.tags.includes('wrong') ? 18 : 0);
  const width = Math.max(name, ...lines.map(({ text }) => textWidth(text, em.line)), 40);
  const height = lineHeight.name + 2 * 6 + lines.length * lineHeight.line + (lines.length > 0 ? 4 : 0);
  return { width: Math.ceil(width + 2 * padding), height };
}

function edgeOf({ from, to, labels }: Arrow, index: number): ElkExtendedEdge {
  const size = {
    width: Math.ceil(Math.max(0, ...labels.map((line) => textWidth(drawnText(line), em.label))) + 10),
    height: labels.length * lineHeight.label + 4,
  };
  return {
    id: `e${index}`,
    sources: [idOf(from)],
    targets: [idOf(to)],
    ...(labels.length === 0 ? {} : { labels: [{ id: `l${index}`, text: '-', ...size }] }),
  };
}

function readGraph(graph: ElkNode, drawn: Drawn): Pick<ChartLayout, 'states' | 'marks' | 'edges'> {
  const states: DrawnState[] = [];
  const marks: DrawnMark[] = [];
  const visit = (node: ElkNode) => {
    const box = { x: node.x ?? 0, y: node.y ?? 0, width: node.width ?? 0, height: node.height ?? 0 };
    const kind = node.id.endsWith('•') ? 'start' : node.id.endsWith('*') ? 'any' : undefined;
    if (kind)
      marks.push({ kind, path: node.id.slice(0, -1), ...rounded(kind === 'start' ? dotOf(box) : box) });
    else {
      const path = pathOf(node.id);
      const lines = drawn.lines.get(path) ?? [];
      const headHeight = lineHeight.name + 12 + lines.length * lineHeight.line + (lines.length > 0 ? 4 : 0);
      states.push({ path, ...rounded(box), headHeight, lines });
    }
    node.children?.forEach(visit);
  };
  visit(graph);
  const edges = (graph.edges ?? []).flatMap((edge) =>
    edge.id.startsWith(stacking) ? [] : readEdge(edge, drawn),
  );
  return { states, marks, edges };
}

/** The box of an initial state may be wide, to widen its parent; the drawn dot is in its middle. */
function dotOf({ x, y, width }: Box): Box {
  return { x: x + (width - startSize) / 2, y, width: startSize, height: startSize };
}

function readEdge(edge: ElkExtendedEdge, drawn: Drawn): DrawnEdge {
  const from = pathOf(edge.sources[0] ?? '');
  const to = pathOf(edge.targets[0] ?? '');
  const arrow = drawn.arrows.find((one) => one.from === from && one.to === to);
  const points: Point[] = (edge.sections ?? []).flatMap(({ startPoint, bendPoints = [], endPoint }) => [
    startPoint,
    ...bendPoints,
    endPoint,
  ]);
  const label = edge.labels?.[0];
  const box = { x: label?.x ?? 0, y: label?.y ?? 0, width: label?.width ?? 0, height: label?.height ?? 0 };
  return {
    from,
    to,
    transitions: arrow?.transitions ?? [],
    points: points.map(({ x, y }) => ({ x: round(x), y: round(y) })),
    label: label && arrow ? { ...rounded(box), lines: arrow.labels } : null,
  };
}

/** ELK needs a non-empty id. */
const idOf = (path: string) => (path === '' ? '(root)' : path);
const pathOf = (id: string) => (id === '(root)' ? '' : id);

/** The text of a line for reading. */
function drawnText({ text, guard }: DrawnText): string {
  return [text, guard].filter(Boolean).join(' ');
}

function textWidth(text: string, size: number): number {
  return text.length * size * widthPerEm;
}

function rounded<B extends { x: number; y: number; width: number; height: number }>({
  x,
  y,
  width,
  height,
}: B) {
  return { x: round(x), y: round(y), width: round(width), height: round(height) };
}

/** Nobody sees more than half pixels. */
function round(length: number): number {
  return Math.round(length * 2) / 2;
}
