/**
 * "Another namespace that asks is refused … It receives no key" and "`spec.sharedWith` on a Domain of the
 * owner grants other namespaces a copy" (docs/features/certificates.md §2.2, §2.3): a key is written only
 * into namespaces that the host belongs to, or belonged to a moment ago, or that it is shared with.
 */
import type { CheckerKind } from '../../../../packages/testing/checkers/checker.ts';
import type { ActorRecord } from '../../../../src/actors/host/records.ts';
import type { KubeObject } from '../../../../src/base/kube-port.ts';
import { domains } from '../../../../src/features/certificates/resources.ts';
import type { DomainContext } from '../../../../src/machines/domain/domain-context.ts';
import { isReplica } from '../../api/sim-api.ts';
import type { ApiStage } from '../../features/feature-world.ts';
import { wholeContext } from '../../features/whole-context.ts';
import type { AcmeAuthority } from '../acme-authority.ts';
import { factsIn, hostIn } from '../certificate-effects.ts';

/** The step that decided a write may be this old. */
const decidedMs = 60_000;

export const keysWhereTheyBelong = ({ api }: ApiStage, { issued }: AcmeAuthority): CheckerKind => ({
  name: 'no key where the host does not belong',
  create(eye) {
    /**
     * Host and namespace → when a stored record last named the namespace as the owner, or the host was shared
     * with it.
     */
    const places = new Map<string, number>();
    /** When somebody with whom a host had been shared lost that, by host, owner and namespace. */
    const unshared = new Map<string, number>();
    api.onWrite(({ resource, after, before, by }) => {
      if (resource.plural === domains.plural && before !== null)
        for (const namespace of sharedWith(before))
          unshared.set(`${hostOf(before)} ${before.metadata.namespace} ${namespace}`, eye.now());
      if (resource.plural !== 'secrets' || after === null || !isReplica(by)) return;
      const facts = factsIn(after);
      const host = hostIn(after);
      if (facts === null || factsIn(before)?.fingerprint === facts.fingerprint) return;
      const { namespace = '', name } = after.metadata;
      const namedAt = places.get(`${host} ${namespace}`);
      if (namedAt === undefined || eye.now() - namedAt > decidedMs)
        eye.breach(`${by} writes the key of ${host} into ${namespace}/${name}, where nobody may have it`);
      if (issued.get(facts.fingerprint)?.host !== host)
        eye.breach(`${by} writes a certificate of another host into ${namespace}/${name}`);
      if (before !== null && !isOurs(before))
        eye.breach(`${by} writes over the Secret ${namespace}/${name} of somebody else`);
    });
    return (sighting) => {
      if (sighting.kind !== 'saved' || !sighting.id.startsWith('domain/') || sighting.record.gone) return;
      const host = sighting.id.slice('domain/_/'.length);
      for (const record of [sighting.record, sighting.before]) {
        const owner = ownerOf(record);
        if (owner === null) continue;
        for (const namespace of [owner, ...sharedBy(api, host, owner)])
          places.set(`${host} ${namespace}`, eye.now());
        // The replica may not have been told yet: the world was away, or its store was full.
        for (const [place, at] of unshared)
          if (place.startsWith(`${host} ${owner} `) && eye.now() - at <= decidedMs)
            places.set(`${host} ${place.slice(`${host} ${owner} `.length)}`, at);
      }
    };
  },
});

function ownerOf(record: ActorRecord | null): string | null {
  if (record === null || record.gone) return null;
  return (wholeContext(record) as DomainContext).facts?.owner ?? null;
}

/** The namespaces with which the owner's Domains share the host at present. */
function sharedBy(api: ApiStage['api'], host: string, owner: string): readonly string[] {
  return api
    .all(domains)
    .filter((domain) => domain.metadata.namespace === owner && hostOf(domain) === host)
    .flatMap(sharedWith);
}

const hostOf = ({ spec }: KubeObject) => (spec as { readonly host: string }).host;
const sharedWith = ({ spec }: KubeObject) =>
  (spec as { readonly sharedWith?: readonly string[] }).sharedWith ?? [];

const isOurs = ({ metadata }: KubeObject) =>
  ['orrery.dev/domain', 'orrery.dev/pending-domain'].some((label) => label in (metadata.labels ?? {}));
