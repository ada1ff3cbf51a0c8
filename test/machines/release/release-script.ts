/**
 * A release actor under a test's control: a leader with a bundle, nodes, a written status, and outcomes of
 * what it requests.
 */

import type { ReleaseContext } from '../../../src/machines/release/release-context.ts';
import type { ReleaseEvent, RoundSummary } from '../../../src/machines/release/release-events.ts';
import type {
  BundleFacts,
  NodeFacts,
  ReleaseStatus,
  SeenStatus,
} from '../../../src/machines/release/release-table.ts';
import { ActorDriver } from '../actor-driver.ts';

export const kinds = [{ apiVersion: 'v1', kind: 'ConfigMap' }] as const;

export function bundle(release: string, minServing = '0.1.0', minReconciler = '0.1.0'): BundleFacts {
  return { name: 'platform', release, minServing, minReconciler, kinds, objects: 3 };
}

export function node(replica: string, release: string, minReconciler = '0.1.0'): NodeFacts {
  return { replica, release, bundle: { name: 'platform', minReconciler } };
}

export const status = (
  state: 'Working' | 'Done',
  release: string,
  minimumCompatible: string,
): ReleaseStatus => ({ state, release, minimumCompatible, kinds });

export const nothing: SeenStatus = { sequence: 0, status: null, unreadable: null };
export const seen = (one: ReleaseStatus, sequence = 50): SeenStatus => ({
  sequence,
  status: one,
  unreadable: null,
});

export const clean: RoundSummary = { applied: 3, pruned: 0, replaced: 0, errors: [], failed: 0 };
export const broken: RoundSummary = {
  ...clean,
  applied: 2,
  errors: ['ConfigMap shop/a: no'],
  failed: 1,
};

export interface Stage {
  readonly bundle: BundleFacts;
  readonly seen?: SeenStatus;
  readonly nodes?: readonly NodeFacts[];
  readonly epoch?: number;
  readonly fence?: number;
}

export class Release extends ActorDriver<ReleaseEvent, ReleaseContext> {
  sequence = 100;

  constructor() {
    super('release', '_', 'platform');
  }

  led({ bundle, seen = nothing, nodes = [], epoch = 10, fence = 7 }: Stage): this {
    return this.take({ type: 'release.led', fence, replica: 'orrery-1', bundle, seen, nodes, epoch });
  }

  observes(nodes: readonly NodeFacts[], epoch: number): this {
    const { fence, seen } = this.context;
    return this.take({ type: 'release.observed', fence, seen, nodes, epoch });
  }

  /** The status that it requests to be written, and under which epoch; it is written. */
  writes(): { status: ReleaseStatus; epoch: number | null; fence: number } | null {
    const [write] = this.askedOf('release-status.write');
    if (!write) return null;
    const { status, epoch, fence } = write;
    this.take({ type: 'status.written', fence, status, sequence: ++this.sequence });
    return { status, epoch, fence };
  }

  /** A round ends as told. */
  round(summary: RoundSummary = clean): this {
    const { fence, round } = this.context;
    return this.take({ type: 'round.finished', fence, round, summary });
  }
}

export function ledBy(stage: Stage): Release {
  return new Release().led(stage);
}
