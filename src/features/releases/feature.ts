/**
 * The feature `releases`: only the newest release writes, and only what the oldest is compatible with
 * (docs/features/releases.md).
 */

import * as v from 'valibot';
import type { Feature } from '../../actors/feature.ts';
import { kindOf } from '../../actors/kind.ts';
import { releaseChart } from '../../machines/release/release.ts';
import { candidacyChart } from '../../machines/release-candidacy/release-candidacy.ts';
import type { ReleasesSettings } from './start.ts';

export function releases(settings: ReleasesSettings = { bundle: null, release: '0.0.0' }): Feature {
  return {
    name: 'releases',
    kinds: [
      kindOf(releaseChart, {
        messages: { 'release.reconcile': v.pipe(v.object({}), v.description('starts a round now')) },
      }),
      { chart: candidacyChart },
    ],
    watches: [],
    needs: [
      {
        apiGroup: 'orrery.dev',
        resources: ['releases'],
        verbs: ['get', 'create'],
        why: 'the Release that reports on a bundle',
      },
      {
        apiGroup: 'orrery.dev',
        resources: ['releases/status'],
        verbs: ['patch'],
        why: 'the status of a Release',
      },
    ],
    metrics: {
      orrery_release_rounds_total: {
        type: 'counter',
        labels: ['outcome'],
        help: 'Rounds of reconciliation over the bundle: done, or failed if an object could not be applied.',
      },
      orrery_release_leader: {
        type: 'gauge',
        labels: [],
        help: '1 while this replica leads the release, else 0.',
      },
      orrery_release_candidacy: {
        type: 'gauge',
        labels: ['state'],
        help: 'Always 1: whether this replica may lead the releases, as a state of the chart release-candidacy.',
      },
      orrery_release_blocked: {
        type: 'gauge',
        labels: [],
        help: '1 while this replica does not serve because it is incompatible with the recorded state, else 0.',
      },
    },
    load: async () => (await import('./start.ts')).startReleases(settings),
  };
}
