/**
 * The feature `routes`: a Pod counts as Ready only when traffic through each Service of its group reaches it
 * (docs/features/routes.md).
 */

import type { Feature } from '../../actors/feature.ts';
import { kindOf } from '../../actors/kind.ts';
import { podChart } from '../../machines/pod/pod.ts';
import { routeGateChart } from '../../machines/routegate/routegate.ts';
import { serviceChart } from '../../machines/service/service.ts';
import { podMessages, routeGateMessages, serviceMessages } from './messages.ts';
import type { RoutesSettings } from './start.ts';
import { namedWatches, watches } from './watches.ts';

export function routes(settings: RoutesSettings = {}): Feature {
  return {
    name: 'routes',
    kinds: [
      kindOf(podChart, podMessages),
      kindOf(serviceChart, serviceMessages),
      kindOf(routeGateChart, routeGateMessages),
    ],
    watches,
    namedWatches,
    needs: [
      { apiGroup: '', resources: ['pods/status'], verbs: ['patch'], why: 'the condition of gated Pods' },
      {
        apiGroup: 'orrery.dev',
        resources: ['routegates/status'],
        verbs: ['patch'],
        why: 'the status of a RouteGate',
      },
    ],
    metrics: {
      orrery_pod_gate_wait_seconds: {
        type: 'histogram',
        labels: [],
        help: 'How long a Pod was held back by its readiness gate.',
        // The goal is under 1 s after the route is programmed. A rolling update waits for minutes, a broken
        // Service for hours.
        buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600],
      },
    },
    load: async () => (await import('./start.ts')).startRoutes(settings),
  };
}
