/**
 * The feature `elections`: leader election by one Lease, for which client-go's candidates contend too
 * (docs/features/elections.md).
 */
import type { Feature } from '../../actors/feature.ts';
import { kindOf } from '../../actors/kind.ts';
import { electionChart } from '../../machines/election/election.ts';
import { electionPart } from './election-digest.ts';
import { electionMessages } from './messages.ts';
import type { ElectionsSettings } from './start.ts';

export function elections(settings: ElectionsSettings = { leaseNamespaces: {} }): Feature {
  return {
    name: 'elections',
    kinds: [kindOf(electionChart, electionMessages)],
    watches: [{ resource: { apiVersion: 'orrery.dev/v1alpha1', kind: 'Election' }, digest: electionPart }],
    needs: [
      { apiGroup: 'orrery.dev', resources: ['elections/status'], verbs: ['patch'], why: 'who leads' },
      {
        apiGroup: 'coordination.k8s.io',
        resources: ['leases'],
        verbs: ['get', 'list', 'watch', 'create', 'update'],
        why: 'elections are decided by Leases',
      },
    ],
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
