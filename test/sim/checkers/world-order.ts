/**
 * I10: "The world may lag, never lie: a new uid under an old name is a delete and a create"; and the router's
 * promise that an actor is told only facts that rest on complete lists.
 *
 * What an actor is told never goes back, neither to an earlier object of its name nor to an earlier place of
 * the world stream. The Services in a Pod's facts are those of its group as they once stood together in the
 * world stream, after each resource was stated to be complete for the RouteGate.
 */

import type { CheckerKind, Eye } from '../../../packages/testing/checkers/checker.ts';
import type { Sighting } from '../../../packages/testing/simulation/sightings.ts';
import { selects } from '../../../src/base/digests.ts';
import type { RouteGateDigest, ServiceDigest } from '../../../src/features/routes/digests.ts';
import type { PodFacts } from '../../../src/machines/pod/pod-facts.ts';
import type { ServiceFacts } from '../../../src/machines/service/route-facts.ts';
import type { Digest } from '../digest.ts';
import type { RoutesScene } from '../routes-scene.ts';

export const worldOrder: CheckerKind<RoutesScene> = {
  name: 'I10',
  create(eye) {
    const pictures = createPictures();
    /** Uids in the order in which the objects were created. */
    const births = new Map<string, number>();
    const latest = new Map<string, { birth: number; uid: string }>();
    let count = 0;
    let isAnew = false;
    eye.world.kube.onChange(({ digest }, before) => {
      const uidBefore = before && 'uid' in before ? before.uid : null;
      // An object that comes back from a backup is again the newest of its name.
      if (digest && 'uid' in digest && digest.uid !== uidBefore) births.set(digest.uid, count++);
    });
    const birthOf = (uid: string) => births.get(uid) ?? -1;
    return (sighting) => {
      if (sighting.kind === 'world') pictures.fold({ ...sighting, digest: sighting.digest as Digest | null });
      // In a stream that was created anew everything has another place.
      if (sighting.kind === 'lost' && sighting.stream === 'world') isAnew = true;
      if (sighting.kind !== 'saved' || sighting.record.rev === sighting.before?.rev) return;
      const { before } = sighting;
      if (before && !isAnew && sighting.record.world < before.world)
        eye.breach(`${sighting.id}: the world that it was told of went back`);
      const facts = factsOf(sighting);
      if (facts === null) return;
      const { id, record } = sighting;
      const known = latest.get(id);
      const birth = birthOf(facts.uid);
      if (birth < 0) return eye.breach(`${id} is told of ${facts.uid}, which never was`);
      if (known && birth < known.birth)
        eye.breach(`${id} rev ${record.rev} is told of ${facts.uid} again, after ${known.uid}`);
      latest.set(id, { birth, uid: facts.uid });
      if ('services' in facts) checkServices(eye, id, facts, pictures);
    };
  },
};

function checkServices(eye: Eye<RoutesScene>, id: string, facts: PodFacts, pictures: Pictures): void {
  const text = servicesText(facts.services);
  if (!pictures.wasComplete(text))
    eye.breach(`${id} is told of the Services ${text}; the world never said so while it was complete`);
}

function factsOf({ record }: Sighting & { kind: 'saved' }): PodFacts | ServiceFacts | null {
  const event = record.feed.at(-1)?.event as { type?: string; facts?: PodFacts | ServiceFacts | null };
  const isObservation = event?.type === 'pod.observed' || event?.type === 'service.observed';
  return isObservation ? (event.facts ?? null) : null;
}

const servicesText = (services: Readonly<Record<string, string | null>>) =>
  Object.entries(services)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, uid]) => `${name}=${uid}`)
    .join(' ');

interface Pictures {
  fold(entry: { resource: string; namespace: string; name: string; digest: Digest | null }): void;
  /** Whether these were all the Services of some group at some time when the world was complete. */
  wasComplete(services: string): boolean;
}

/**
 * A second join of RouteGates and Services, in the simplest way that is right, independent of the router's.
 */
function createPictures(): Pictures {
  const services = new Map<string, ServiceDigest>();
  let gate: RouteGateDigest | null = null;
  const synced = new Map<string, readonly string[]>();
  const complete = new Set<string>();
  const note = () => {
    if (gate === null || 'invalid' in gate.spec) return;
    const version = `${gate.uid}/${gate.generation}`;
    const { spec } = gate;
    if (!synced.get('services')?.includes(version)) return;
    const groups = new Map<string, Record<string, string | null>>();
    for (const [name, digest] of services) {
      const group = digest.labels[spec.group.serviceLabel];
      if (group === undefined || !selects(spec.serviceSelector, digest.labels)) continue;
      const hasPort = digest.ports.some((port) => port.name === spec.probe.portName);
      groups.set(group, { ...groups.get(group), [name]: hasPort ? digest.uid.slice(0, 8) : null });
    }
    // A group may always be without a Service: which groups have Pods is not checked here.
    for (const members of [{}, ...groups.values()]) complete.add(servicesText(members));
  };
  return {
    wasComplete: (text) => complete.has(text),
    fold({ resource, name, digest }) {
      if (resource === 'routegates') gate = digest?.kind === 'routegates' ? digest : null;
      else if (resource === 'services' && digest?.kind === 'services') services.set(name, digest);
      else if (resource === 'services') services.delete(name);
      else if (digest?.kind === 'synced') synced.set(name, digest.gates);
      else return;
      note();
    },
  };
}
