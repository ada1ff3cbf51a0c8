/**
 * Runs the chart `release-candidacy` in this replica: passes it the stored nodes, and asks it whether this
 * replica may lead.
 */
import type { FeatureParts } from '../../actors/feature.ts';
import { type LocalActor, startLocal } from '../../actors/host/local.ts';
import { type NodeFacts, newestRelease } from '../../machines/release/release-table.ts';
import { type CandidacyEvent, candidacyChart } from '../../machines/release-candidacy/release-candidacy.ts';

export interface Candidacy {
  /** Reads the nodes again. */
  update(): void;
  readonly mayLead: boolean;
  /** The chart's state. */
  readonly state: string;
  /** The leadership started or ended here. */
  reigns(isLeading: boolean): void;
  /** This replica will not lead any more. */
  stop(): void;
}

export function createCandidacy(
  parts: Pick<FeatureParts, 'clock' | 'random'> & {
    readonly release: string | null;
    readonly nodes: () => readonly NodeFacts[];
    readonly isEntered: () => boolean;
    readonly onChange: () => void;
  },
): Candidacy {
  const { clock, random, release, nodes, isEntered, onChange } = parts;
  let mayLead = false;
  let isOver = false;
  const actor: LocalActor = startLocal({
    chart: candidacyChart,
    input: { release },
    runEffect: () => Promise.reject(new Error('the chart asks for no effects')),
    clock,
    random,
    onTransition({ snapshot }) {
      const now = snapshot.hasTag('mayLead');
      if (now === mayLead) return;
      mayLead = now;
      if (!isOver) onChange();
    },
  });
  const tell = (event: CandidacyEvent) => actor.send(event);
  return {
    update: () => tell({ type: 'nodes.seen', isEntered: isEntered(), newest: newestRelease(nodes()) }),
    get mayLead() {
      return mayLead;
    },
    get state() {
      return actor.state();
    },
    reigns: (isLeading) => tell({ type: isLeading ? 'reign.began' : 'reign.ended' }),
    stop() {
      isOver = true;
      tell({ type: 'candidacy.ended' });
      actor.stop();
    },
  };
}
