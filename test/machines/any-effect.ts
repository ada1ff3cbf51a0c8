/** Every effect of every chart, as one closed union: a test names an effect and gets its fields. */
import type { domainEffects } from '../../src/machines/domain/domain-effects.ts';
import type { EffectDeclaration } from '../../src/machines/effect.ts';
import type { electionEffects } from '../../src/machines/election/election-effects.ts';
import type { issuerEffects } from '../../src/machines/issuer/issuer-effects.ts';
import type { podEffects } from '../../src/machines/pod/pod-effects.ts';
import type { releaseEffects } from '../../src/machines/release/release-effects.ts';
import type { routeGateEffects } from '../../src/machines/routegate/routegate-effects.ts';
import type { serviceEffects } from '../../src/machines/service/service-effects.ts';
import type { workloadEffects } from '../../src/machines/workload/workload-effects.ts';

type EffectIn<D> = D extends EffectDeclaration<infer E> ? E : never;

type Declared =
  | (typeof podEffects)[number]
  | (typeof serviceEffects)[number]
  | (typeof workloadEffects)[number]
  | (typeof domainEffects)[number]
  | (typeof issuerEffects)[number]
  | (typeof electionEffects)[number]
  | (typeof releaseEffects)[number]
  | (typeof routeGateEffects)[number];

export type Effect = EffectIn<Declared>;
export type EffectType = Effect['type'];
