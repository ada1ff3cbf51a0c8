/** What a load balancer may ask about the service proxy of a node. */
import type { HttpPath } from '../../actors/feature.ts';

export const proxierPaths: readonly HttpPath[] = [
  {
    path: '/proxiers/:node/livez',
    about: "whether the node's service proxy keeps up; any replica answers",
  },
  { path: '/proxiers/:node/healthz', about: 'the same, and whether the node may get traffic' },
];
