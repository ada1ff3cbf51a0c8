/** What faults work with, and the world that they reach. */
import type { MemoryBus } from '../../../src/bus/memory/memory-bus.ts';
import type { SimReplica } from '../replicas/sim-replica.ts';
import type { Chance } from '../time/chance.ts';
import type { FaultKind } from './fault-kinds.ts';
import type { Stage } from './stage.ts';

/** A world that faults reach. */
export interface FaultyWorld extends Stage {
  /** The share of requests to Kubernetes that fail. */
  kubeErrors: number;
  readonly mirror: {
    /** Whether nobody mirrors. */
    readonly isAway: boolean;
    /** Its connection. */
    readonly bus: MemoryBus;
    leave(): void;
    takeOver(): void;
  };
  /** @returns a function that restores the present state */
  readonly kube: { backup(): () => void };
}

export interface FaultParts {
  readonly world: FaultyWorld;
  readonly chance: Chance;
  /** The kinds of faults in this run. */
  readonly profile: { readonly faults: ReadonlySet<FaultKind> };
  readonly replicas: () => readonly SimReplica[];
  /** Starts another incarnation of the replica of this name. */
  readonly start: (name: string) => void;
  readonly say: (text: string) => void;
}

/** Takes something back when its time is over, or when all faults end. */
export type ForAWhile = (ms: number, undo: () => void) => void;
