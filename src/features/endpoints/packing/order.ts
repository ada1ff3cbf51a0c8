/**
 * Orders the writes of one plan, so that a moving endpoint is in its new slice before it leaves the old one.
 *
 * Each write names the writes that must succeed before it. Creates depend on nothing; deletes come last. If
 * two slices exchange endpoints and would wait for each other, a new slice takes what one of them gains.
 */
import type { Labels } from '../../../base/digests.ts';
import type { SliceEndpoint, SlicePort } from '../digests.ts';
import type { Bin } from './slices.ts';
import { portsText, type StandingSlice, textOf, workloadOf } from './slices.ts';

interface Contents {
  readonly addressType: string;
  readonly ports: readonly SlicePort[];
  readonly endpoints: readonly SliceEndpoint[];
}

/** `after`: positions in the list of the writes that must have succeeded before this one. All precede it. */
export type PlannedWrite = { readonly after: readonly number[] } & (
  | ({ readonly operation: 'create' } & Contents)
  | ({ readonly operation: 'update'; readonly slice: StandingSlice } & Contents)
  | { readonly operation: 'delete'; readonly slice: StandingSlice }
);

/** A slice that loses endpoints waits for those that gain them. */
interface Node {
  readonly bin: Bin | null;
  readonly slice: StandingSlice | null;
  loses: ReadonlySet<string>;
  /** Also those that it lists already, but not as they are wanted: another slice may hold them better. */
  gains: ReadonlySet<string>;
}

export interface OrderOptions {
  readonly isChanged: (bin: Bin) => boolean;
  /** The most endpoints in one slice. */
  readonly max: number;
  /** Those of all our slices; one with others may be another controller's until it is written. */
  readonly labels: Labels;
}

/** @param surplus slices that must go, whatever they hold */
export function inOrder(
  bins: readonly Bin[],
  surplus: readonly StandingSlice[],
  options: OrderOptions,
): PlannedWrite[] {
  const nodes = bins.filter(options.isChanged).map((bin) => nodeOf(bin, bin.slice, options));
  nodes.push(...surplus.map((slice) => nodeOf(null, slice, options)));
  for (let cycle = findCycle(nodes); cycle !== null; cycle = findCycle(nodes)) untie(nodes, cycle, options);
  return written(nodes);
}

function nodeOf(bin: Bin | null, slice: StandingSlice | null, options: OrderOptions): Node {
  const family = slice?.content.addressType ?? bin?.family ?? '';
  const before = idsOf(family, slice?.content.endpoints ?? []);
  const after = idsOf(bin?.family ?? '', bin?.endpoints ?? []);
  return { bin, slice, loses: minus(before, after), gains: minus(after, idsOf(family, held(bin, options))) };
}

/** What the slice of the bin holds already as it is wanted. */
function held(bin: Bin | null, { labels }: OrderOptions): readonly SliceEndpoint[] {
  if (bin === null || bin.slice === null || textOf(bin.slice.labels) !== textOf(labels)) return [];
  const { ports, endpoints } = bin.slice.content;
  if (portsText(ports) !== portsText(bin.group?.ports ?? [])) return [];
  const texts = new Set(endpoints.map(textOf));
  return bin.endpoints.filter((one) => texts.has(textOf(one)));
}

function minus(a: ReadonlySet<string>, b: ReadonlySet<string>): Set<string> {
  return new Set([...a].filter((one) => !b.has(one)));
}

/** Ids of endpoints: a workload has one in each family. */
function idsOf(family: string, endpoints: readonly SliceEndpoint[]): Set<string> {
  return new Set(endpoints.map((one) => `${family}/${workloadOf(one)}`));
}

/** The nodes that must be written before a node. */
type Prerequisites = (node: Node) => readonly Node[];

function prerequisitesIn(nodes: readonly Node[]): Prerequisites {
  // An endpoint is in one slice of its family, so only one gains it.
  const gaining = new Map<string, Node>();
  for (const node of nodes) for (const id of node.gains) gaining.set(id, node);
  return ({ loses }) => [...new Set([...loses].flatMap((id) => gaining.get(id) ?? []))];
}

function findCycle(nodes: readonly Node[]): Node | null {
  const prerequisites = prerequisitesIn(nodes);
  const done = new Set<Node>();
  const open = new Set<Node>();
  const visit = (node: Node): Node | null => {
    if (open.has(node)) return node;
    if (done.has(node)) return null;
    open.add(node);
    for (const before of prerequisites(node)) {
      const found = visit(before);
      if (found !== null) return found;
    }
    open.delete(node);
    done.add(node);
    return null;
  };
  for (const node of nodes) {
    const found = visit(node);
    if (found !== null) return found;
  }
  return null;
}

/** Moves what the slice gains from slices of this plan to a new one. */
function untie(nodes: Node[], tied: Node, options: OrderOptions): void {
  const { bin } = tied;
  if (bin === null || bin.group === null) return;
  const isMoving = (endpoint: SliceEndpoint) => {
    const id = `${bin.family}/${workloadOf(endpoint)}`;
    return tied.gains.has(id) && nodes.some(({ loses }) => loses.has(id));
  };
  const moving = bin.endpoints.filter(isMoving);
  bin.endpoints = bin.endpoints.filter((one) => !moving.includes(one));
  const left = nodeOf(bin, bin.slice, options);
  tied.gains = left.gains;
  tied.loses = left.loses;
  for (let at = 0; at < moving.length; at += options.max) {
    const endpoints = moving.slice(at, at + options.max);
    nodes.push(nodeOf({ slice: null, family: bin.family, group: bin.group, endpoints }, null, options));
  }
}

const ranks = { create: 0, update: 1, delete: 2 } as const;

function operationOf({ bin, slice }: Node): keyof typeof ranks {
  if (slice === null) return 'create';
  return bin === null || bin.endpoints.length === 0 ? 'delete' : 'update';
}

function written(nodes: readonly Node[]): PlannedWrite[] {
  const prerequisites = prerequisitesIn(nodes);
  const sorted: Node[] = [];
  const add = (node: Node) => {
    if (sorted.includes(node)) return;
    for (const before of prerequisites(node)) add(before);
    sorted.push(node);
  };
  const byRank = [...nodes].sort((a, b) => ranks[operationOf(a)] - ranks[operationOf(b)]);
  for (const node of byRank) add(node);
  return sorted.map((node) =>
    writeOf(
      node,
      prerequisites(node).map((before) => sorted.indexOf(before)),
    ),
  );
}

function writeOf(node: Node, after: readonly number[]): PlannedWrite {
  const { bin, slice } = node;
  if (slice !== null && (bin === null || bin.endpoints.length === 0))
    return { operation: 'delete', slice, after };
  const contents = {
    addressType: bin?.family ?? '',
    ports: bin?.group?.ports ?? [],
    endpoints: bin?.endpoints ?? [],
  };
  return slice === null
    ? { operation: 'create', ...contents, after }
    : { operation: 'update', slice, ...contents, after };
}
