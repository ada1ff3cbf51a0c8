/** Effect `routegate.look`: counts what the picture contains for one RouteGate (gate-look.ts). */
import type { EffectRunner } from '../../../actors/effect-runner.ts';
import type { World } from '../../../actors/world/world.ts';
import { asDigest } from '../../../base/digests.ts';
import type { RouteGateLook } from '../../../machines/routegate/routegate-effects.ts';
import type { RouteGateDigest } from '../digests.ts';
import { gateBounds } from '../gate-bounds.ts';
import type { GateJoin } from '../gate-join.ts';
import { lookAt } from '../gate-look.ts';
import type { RoutesJoin } from '../routes-join.ts';

/** Outcome: routegate.counted, or routegate.refused if the RouteGate is gone or cannot be used. */
export function lookAtGate(parts: {
  readonly world: Pick<World, 'get' | 'entries'>;
  readonly join: Pick<RoutesJoin, 'groups' | 'isComplete' | 'isForeign' | 'unlistedOwner' | 'unservedOwner'>;
  readonly gates: Pick<GateJoin, 'look' | 'noteRefused'>;
}): EffectRunner<RouteGateLook> {
  const { world, join, gates } = parts;
  return async ({ namespace, name, look }) => {
    // Before counting, so that a change during the count is told again.
    const stirred = gates.look(namespace, name);
    const digest = asDigest<RouteGateDigest>(world.get('routegates', namespace, name), 'routegates');
    if (digest === null || 'invalid' in digest.spec) {
      const message = digest === null ? 'there is no such RouteGate' : 'the RouteGate cannot be used';
      return { type: 'routegate.refused', reason: 'gone', message, look };
    }
    const refusal = gateBounds(world.entries('routegates')).refusalOf(namespace, name);
    gates.noteRefused(namespace, name, refusal !== null);
    const findings = lookAt(digest.spec, {
      pods: join.groups.podsIn(namespace),
      groups: join.groups.groupsOfGate(namespace, name),
      isComplete: join.isComplete(namespace, name),
      unlistedOwner: join.unlistedOwner(namespace, name),
      unservedOwner: join.unservedOwner(namespace, name),
      refusal,
      typesInUse: new Set(join.groups.gatesIn(namespace).map(({ spec }) => spec.conditionType)),
      isForeign: (value) => join.isForeign(namespace, name, value),
    });
    return { type: 'routegate.counted', look, stirred, findings };
  };
}
