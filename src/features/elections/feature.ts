/** The feature `elections`: who leads, by one Lease that client-go's candidates contend for too (docs/features/elections.md). */
import type { Feature } from '../../actors/feature.ts';
import type { NamespaceGrants } from '../../base/config-values.ts';
import { electionChart } from '../../machines/election/election.ts';
import { electionMessages } from './messages.ts';

export interface ElectionsSettings {
  /** By namespace of an Election: whose Leases it may contend for beside those of its own (§7.1). */
  readonly leaseNamespaces: NamespaceGrants;
}

export function elections(settings: ElectionsSettings = { leaseNamespaces: {} }): Feature {
  return {
    name: 'elections',
    charts: [electionChart],
    messages: { election: electionMessages },
    watches: [],
    rights: [],
    metrics: {
      orrery_election_term: {
        type: 'gauge',
        labels: ['election'],
        help: 'Highest known term of each election that this replica serves.',
      },
    },
    load: async () => (await import('./start.ts')).startElections(settings),
  };
}
