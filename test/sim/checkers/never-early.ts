/**
 * "No condition becomes True before every Service of the group that can be verified has answered with status
 * 200 as this very Pod: this uid, at its current address" (docs/features/routes.md §3.1).
 *
 * When the API server serves a patch to True, every Service that was known to the step which requested it
 * must really have answered, through the simulated routing, with this Pod's address and status 200, since the
 * Pod has that address. A Service that has meanwhile been replaced by another of its name, of which the actor
 * cannot know yet, may have answered in its place: a probe is addressed by name. A Service that cannot tell
 * its Pods apart owes a round in which something answered and nobody named itself.
 */

import type { CheckerKind, Eye } from '../../../packages/testing/checkers/checker.ts';
import type { PodFacts } from '../../../src/machines/pod/pod-facts.ts';
import type { RoutesScene } from '../routes-scene.ts';

interface Truth {
  /**
   * Service uid (as cut in facts) or Service name, and address → when it last answered like that with 200.
   */
  readonly answers: Map<string, number>;
  /** Actor id of a Service → when one of its rounds was last anonymous. */
  readonly anonymous: Map<string, number>;
  /** Pod uid and address → since when. */
  readonly since: Map<string, number>;
  /** Effect key of a patch to True → what its step knew. */
  readonly asked: Map<string, PodFacts>;
}

export const neverEarly: CheckerKind<RoutesScene> = {
  name: 'never Ready early',
  create(eye) {
    const truth: Truth = { answers: new Map(), anonymous: new Map(), since: new Map(), asked: new Map() };
    eye.world.kube.onChange(({ digest }) => {
      if (digest?.kind !== 'pods' || digest.address === null || !('ip' in digest.address)) return;
      const key = `${digest.uid} ${digest.address.ip}`;
      if (!truth.since.has(key)) truth.since.set(key, eye.now());
    });
    return (sighting) => {
      switch (sighting.kind) {
        case 'answered':
          if (sighting.status !== 200 || sighting.ip === null) break;
          truth.answers.set(`${sighting.serviceUid.slice(0, 8)} ${sighting.ip}`, eye.now());
          truth.answers.set(`${sighting.service} ${sighting.ip}`, eye.now());
          break;
        case 'round':
          if (sighting.isAnonymous) truth.anonymous.set(sighting.actor, eye.now());
          break;
        case 'saved':
          for (const { key, effect } of sighting.record.outbox) {
            if (effect.type !== 'pod-condition.patch' || effect.status !== 'True') continue;
            const { facts } = sighting.record.snapshot.context as { facts: PodFacts | null };
            // If an actor was forgotten long ago and starts afresh, the same keys come again.
            const isKnown = sighting.before?.outbox.some((one) => one.key === key) ?? false;
            if (facts !== null && !isKnown) truth.asked.set(key, facts);
          }
          break;
        case 'patched':
          if (sighting.status === 'True') check(eye, truth, sighting);
      }
    };
  },
};

function check(
  { breach, world }: Eye<RoutesScene>,
  truth: Truth,
  patched: { readonly key: string; readonly namespace: string; readonly name: string; readonly uid: string },
): void {
  const { key, namespace, name, uid } = patched;
  const facts = truth.asked.get(key);
  if (!facts) {
    breach(`${name} is marked by ${key}, of which no step is known`);
    return;
  }
  if (facts.uid !== uid) {
    breach(`${name}: ${key} meant ${facts.uid} and marked ${uid}`);
    return;
  }
  if (!facts.gated) {
    breach(`${name} is marked without having the gate`);
    return;
  }
  if (!facts.verifiable) return;
  const ip = facts.address !== null && 'ip' in facts.address ? facts.address.ip : null;
  if (ip === null) {
    breach(`${name} is marked without an address`);
    return;
  }
  const since = truth.since.get(`${uid} ${ip}`) ?? Number.POSITIVE_INFINITY;
  for (const [service, serviceUid] of Object.entries(facts.services)) {
    if (serviceUid === null) continue;
    const present = world.kube.get('services', namespace, service);
    const isReplaced = present?.kind === 'services' && !present.uid.startsWith(serviceUid);
    const isAnswered = (truth.answers.get(`${isReplaced ? service : serviceUid} ${ip}`) ?? 0) >= since;
    const isAnonymous = truth.anonymous.has(`service/${namespace}/${service}`);
    if (!isAnswered && !isAnonymous)
      breach(`${name} (${uid}, ${ip}) is marked by ${key}; ${service} (${serviceUid}) never answered as it`);
  }
}
