/**
 * "Creations and updates come before deletions: a moving endpoint is in its new slice, as it is wanted,
 * before it leaves the old one" (docs/features/endpoints.md §5.1): no write of ours removes the last place of
 * an endpoint that its Service and workload have wanted, unchanged, for a while in which every replica could
 * hear of it. Nor is a slice given to a Service while the garbage collector may still take it for an orphan
 * of an earlier one (§5.8).
 */
import type { CheckerKind } from '../../../../packages/testing/checkers/checker.ts';
import { createUntroubled } from '../../../../packages/testing/checkers/quiet-time.ts';
import type { KubeObject } from '../../../../src/base/kube-port.ts';
import { limits } from '../../../../src/base/limits.ts';
import {
  managedBy,
  managedByLabel,
  serviceNameLabel,
} from '../../../../src/features/endpoints/slice-labels.ts';
import { services } from '../../../../src/kube/api/resources.ts';
import { backupName } from '../../api/backup.ts';
import { collectorName } from '../../api/collector.ts';
import type { SeenStage } from '../../api/seen-api.ts';
import { isReplica } from '../../api/sim-api.ts';
import { createSince } from '../../checkers/since.ts';
import { namespace } from '../endpoint-world.ts';
import { isLasting, listedIn, slicesOf, wantedOf } from '../wanted-endpoints.ts';

/**
 * What a writer knows of the world may be this old: a message that was sent into an outage of the broker is
 * given up, and each kind of object is published again this long after it, with jitter; and a pause, and a
 * late request.
 */
const knownMs = limits.appendTimeoutMs + 1.25 * limits.worldRetryMaxMs + 2_000;

/** @param writers whose slices count: ours, and those that are taken over */
export const neverMissing = ({ api }: SeenStage, writers: readonly string[] = [managedBy]): CheckerKind => ({
  name: 'no endpoint is missing meanwhile',
  create(eye) {
    // Told late, each kind of object by itself, they may take an endpoint for unwanted that never was.
    const untroubled = createUntroubled(eye);
    const since = createSince(eye.now);
    /** Service and endpoint → since when it has been wanted. */
    let wanted: ReadonlyMap<string, number> = new Map();
    /** The same → when somebody else took it out of a slice, to which it may just have moved. */
    const takenOut = new Map<string, number>();
    const note = () => {
      const wants = (service: KubeObject) =>
        [...wantedOf(api, service)].map((one) => `${service.metadata.name} ${one}`);
      wanted = since(api.all(services).filter(isLasting).flatMap(wants));
    };
    const isOurs = (slice: KubeObject | null): slice is KubeObject =>
      slice !== null && writers.includes(slice.metadata.labels?.[managedByLabel] ?? '');
    api.onWrite(({ resource, before, after, by }) => {
      // The writers have to hear of it first.
      if (by === backupName) since([]);
      if (resource.plural !== 'endpointslices') return note();
      if (!isOurs(before)) return;
      const service = before.metadata.labels?.[serviceNameLabel] ?? '';
      const owner = api.find(services, namespace, service)?.metadata.uid;
      const isOwned = before.metadata.ownerReferences?.some(({ uid }) => uid === owner) === true;
      if (by === collectorName && !isOwned) return;
      const left = listedIn(isOurs(after) ? [after] : []);
      const listed = new Set(listedIn(slicesOf(api, service, writers)));
      for (const one of listedIn([before]).filter((endpoint) => !left.includes(endpoint))) {
        const key = `${service} ${one}`;
        const wantedSince = Math.max(wanted.get(key) ?? eye.now(), takenOut.get(key) ?? 0);
        const wantedMs = eye.now() - Math.max(wantedSince, untroubled.since());
        if (by !== collectorName && !isReplica(by)) takenOut.set(key, eye.now());
        else if ((by === collectorName || wantedMs > knownMs) && !listed.has(one))
          eye.breach(
            `${by} takes ${one} out of ${namespace}/${before.metadata.name}, and it stands nowhere else`,
          );
      }
    });
    return untroubled.see;
  },
});
