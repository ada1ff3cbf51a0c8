/**
 * Runs the chart `release-candidacy` in this replica: passes it the stored nodes, and asks it whether this
 * replica may lead.
 */
import type { FeatureParts } from '../../actors/feature.ts';
import { type LocalActor, startLocal } from '../../actors/host/local.ts';
import { type NodeFacts, newestRelease } from '../../machines/release/release-table.ts';
import { type CandidacyEvent, candidacyChart } from '../../machines/release-candidacy/release-candidacy.ts';

export type Candidacy = ReturnType<typeof createCandidacy>;

export function createCandidacy(
  parts: Pick<FeatureParts, 'clock' | 'random'> & {
    readonly release: string | null;
    readonly nodes: () => readonly NodeFacts[];
    readonly isEntered: () => boolean;
    readonly onChange: () => void;
  },
) {
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
    /** Reads the nodes again. */
    update: (): void => tell({ type: 'nodes.seen', isEntered: isEntered(), newest: newestRelease(nodes()) }),
    get mayLead(): boolean {
      return mayLead;
    },
    /** The chart's state. */
    get state(): string {
      return actor.state();
    },
    /** The leadership started or ended here. */
    reigns: (isLeading: boolean): void => tell({ type: isLeading ? 'reign.began' : 'reign.ended' }),
    /** This replica will not lead any more. */
    stop(): void {
      isOver = true;
      tell({ type: 'candidacy.ended' });
      actor.stop();
    },
  };
}
