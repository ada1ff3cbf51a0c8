/**
 * Moves from states to states, as xstate makes them, without its search for what is left and entered.
 *
 * From the same states, the same transition leaves and enters the same ones: xstate is watched once, and what
 * it reached is remembered. A move of which more follows than its actions is left to xstate: one into a final
 * state, of several regions at once, of a machine with history or invocations.
 */
import type { AnyActorScope, AnyMachineSnapshot, AnyStateNode } from 'xstate';
import type { Chart } from './chart.ts';
import { type Action, isPlain, type Moment, performAll } from './quick-actions.ts';

type Machine = Chart['machine'];

/** As xstate keeps it. */
export interface MovingTransition {
  readonly target: readonly AnyStateNode[] | undefined;
  readonly source: AnyStateNode;
  readonly reenter: boolean;
  readonly actions: readonly Action[];
}

interface Move {
  /** Those of the states that are left, of the transition, and of the states that are entered. */
  readonly actions: readonly Action[];
  readonly reached: Pick<AnyMachineSnapshot, '_nodes' | 'value' | 'tags'>;
  /** The states are the same as before. */
  readonly isInPlace: boolean;
}

/** The moves from the same states, by transition; null: left to xstate. */
type Moves = Map<MovingTransition, Move | null>;

export interface QuickMoves {
  /** @returns null: xstate has to make it, and `learn` may watch */
  make(
    snapshot: AnyMachineSnapshot,
    event: Moment['event'],
    transition: MovingTransition,
    scope: AnyActorScope,
  ): AnyMachineSnapshot | null;
  /** @param after the snapshot after this transition, before any other */
  learn(before: AnyMachineSnapshot, transition: MovingTransition, after: AnyMachineSnapshot): void;
}

export function quickMoves(machine: Machine, nodes: readonly AnyStateNode[]): QuickMoves {
  const isLearnable = nodes.every(({ type, invoke }) => type !== 'history' && invoke.length === 0);
  const byStates = new Map<string, Moves>();
  // Snapshots that were reached by a quick move share their list of states.
  const byNodes = new WeakMap<readonly AnyStateNode[], Moves>();
  const movesFrom = ({ _nodes }: AnyMachineSnapshot): Moves => {
    const known = byNodes.get(_nodes);
    if (known !== undefined) return known;
    const states = _nodes.map(({ id }) => id).join('\n');
    const moves = byStates.get(states) ?? new Map();
    byStates.set(states, moves);
    byNodes.set(_nodes, moves);
    return moves;
  };
  return {
    make(snapshot, event, transition, scope) {
      const move = movesFrom(snapshot).get(transition);
      if (!move) return null;
      const context = performAll(move.actions, snapshot, event, scope);
      if (context === null) return null;
      if (!move.isInPlace) return { ...snapshot, ...move.reached, context } as AnyMachineSnapshot;
      return context === snapshot.context ? snapshot : ({ ...snapshot, context } as AnyMachineSnapshot);
    },
    learn(before, transition, after) {
      const moves = movesFrom(before);
      if (moves.has(transition)) return;
      const move = isLearnable ? moveOf(before, transition, after) : null;
      const isQuick = move?.actions.every((action) => isPlain(action, machine.implementations.actions));
      moves.set(transition, isQuick ? move : null);
    },
  };
}

function moveOf(
  before: AnyMachineSnapshot,
  transition: MovingTransition,
  { status, _nodes, value, tags }: AnyMachineSnapshot,
): Move | null {
  const left = leaving(before._nodes, transition);
  if (left === null || status !== 'active') return null;
  const kept = before._nodes.filter((node) => !left.includes(node));
  const entered = _nodes.filter((node) => !kept.includes(node)).sort((a, b) => a.order - b.order);
  const isMore = (node: AnyStateNode) => node.type === 'final' || (node.initial?.actions.length ?? 0) > 0;
  if (entered.some(isMore)) return null;
  const actions = [
    ...left.sort((a, b) => b.order - a.order).flatMap(({ exit }) => exit),
    ...transition.actions,
    ...entered.flatMap(({ entry }) => entry),
  ] as unknown as readonly Action[];
  return { actions, reached: { _nodes, value, tags }, isInPlace: _nodes === before._nodes };
}

/** The states that the transition leaves; null: it moves none, or all. */
function leaving(
  active: readonly AnyStateNode[],
  { target = [], source, reenter }: MovingTransition,
): AnyStateNode[] | null {
  if (target.length === 0) return null;
  const isWithin = !reenter && target.every((node) => node === source || isBelow(node, source));
  const domain = isWithin ? source : commonAbove([...target, source]);
  return domain === undefined ? null : active.filter((node) => isBelow(node, domain));
}

function commonAbove([first, ...others]: readonly AnyStateNode[]): AnyStateNode | undefined {
  let above = first?.parent;
  while (above !== undefined && !others.every((node) => isBelow(node, above as AnyStateNode)))
    above = above.parent;
  return above;
}

function isBelow(node: AnyStateNode, ancestor: AnyStateNode): boolean {
  for (let above = node.parent; above !== undefined; above = above.parent)
    if (above === ancestor) return true;
  return false;
}
