/**
 * Writes a chart as a Mermaid `stateDiagram-v2`. Pure.
 *
 * Mermaid draws no edge between states inside different composite states: such an edge is drawn between those
 * of their ancestors that are siblings, and its label names the inner state. A transition from a composite
 * state to a state inside it starts at a node "any state". Transitions without a target are left out; the
 * text form has them.
 */
import { type ChartState, type ChartTransition, join, labelOf } from './chart-tree.ts';

interface Edge {
  /** Path of the composite state in which it is drawn. */
  readonly scope: string;
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

/** @returns lines without a line feed at the end */
export function chartMermaid(chart: ChartState): string[] {
  const edges = edgesOf(chart);
  const lines = body(chart, edges);
  // Mermaid accepts regions only inside a state.
  const whole = chart.type === 'parallel' ? braced(`state "${chart.name}" as all_regions`, lines) : lines;
  return ['stateDiagram-v2', ...indented(whole)];
}

function body(state: ChartState, edges: readonly Edge[]): string[] {
  if (state.type === 'parallel') {
    const regions = state.children.map((region) => declaration(region, edges));
    return regions.flatMap((lines, index) => (index === 0 ? lines : ['--', ...lines]));
  }
  const inside = edges.filter(({ scope }) => scope === state.path);
  const any = anyOf(state.path);
  return [
    ...state.children.flatMap((child) => declaration(child, edges)),
    ...(inside.some(({ from }) => from === any) ? [`state "any state" as ${any}`] : []),
    ...(state.initial === null ? [] : [`[*] --> ${idOf(join(state.path, state.initial))}`]),
    ...inside.map(({ from, to, label }) => `${from} --> ${to}: ${label}`),
    ...state.children.filter(({ type }) => type === 'final').map(({ path }) => `${idOf(path)} --> [*]`),
  ];
}

function declaration(state: ChartState, edges: readonly Edge[]): string[] {
  const name = `state "${state.name}" as ${idOf(state.path)}`;
  if (state.children.length === 0) return [name];
  return braced(name, body(state, edges));
}

const indented = (lines: readonly string[]) => lines.map((line) => `  ${line}`);
const braced = (name: string, lines: readonly string[]) => [`${name} {`, ...indented(lines), '}'];

function edgesOf(chart: ChartState): Edge[] {
  const parallel = new Set<string>();
  const edges = new Map<string, Edge>();
  const visit = (state: ChartState) => {
    if (state.type === 'parallel') parallel.add(state.path);
    for (const transition of state.transitions) {
      for (const target of transition.targets ?? []) {
        const edge = edgeBetween(state.path, target, transition);
        // Regions are siblings but not connected: an edge that would have to be drawn there is left out.
        if (!parallel.has(edge.scope)) edges.set(JSON.stringify(edge), edge);
      }
    }
    state.children.forEach(visit);
  };
  visit(chart);
  return [...edges.values()];
}

function edgeBetween(source: string, target: string, transition: ChartTransition): Edge {
  const from = source.split('.').filter(Boolean);
  const to = target.split('.').filter(Boolean);
  let depth = 0;
  while (depth < from.length && depth < to.length && from[depth] === to[depth]) depth++;
  const label = labelOf(transition);
  if (depth === from.length && to.length > depth) {
    const child = to.slice(0, depth + 1).join('.');
    return {
      scope: source,
      from: anyOf(source),
      to: idOf(child),
      label: withPlace(label, child, target, '→'),
    };
  }
  // A state with a transition to itself, or to an ancestor, has its edge among its siblings.
  const level = Math.min(depth, to.length - 1, from.length - 1);
  const left = from.slice(0, level + 1).join('.');
  const right = to.slice(0, level + 1).join('.');
  const scope = from.slice(0, level).join('.');
  const meant = withPlace(withPlace(label, left, source, 'in'), right, target, '→');
  return { scope, from: idOf(left), to: idOf(right), label: meant };
}

/** Names the inner state if an edge ends at one of its ancestors. */
function withPlace(label: string, drawn: string, meant: string, word: string): string {
  return drawn === meant ? label : `${label} ${word} ${meant.slice(drawn.length + 1)}`;
}

/** Mermaid's identifiers are plain words. */
function idOf(path: string): string {
  return path.replaceAll(/[^A-Za-z0-9]/g, '_');
}

function anyOf(path: string): string {
  return path === '' ? 'any_state' : `${idOf(path)}__any_state`;
}
