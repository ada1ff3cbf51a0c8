/** What is seen in the world of routes besides what every simulated cluster shows. */
import type { ActorId } from '../../src/base/ids.ts';
import type { Patched } from './sim-kube.ts';
import type { Answered } from './sim-routing.ts';

declare module '../../packages/testing/simulation/sightings.ts' {
  interface WorldSightings {
    /** The Kubernetes API served a patch. */
    patched: { readonly kind: 'patched'; readonly replica: string; readonly key: string } & Patched;
    /** A Pod answered a call through a Service. */
    answered: { readonly kind: 'answered' } & Answered;
    /** A sampling round ended; `isAnonymous`: something answered and nobody named itself. */
    round: { readonly kind: 'round'; readonly actor: ActorId; readonly isAnonymous: boolean };
  }
}
