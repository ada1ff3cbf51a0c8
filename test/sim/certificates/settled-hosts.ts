/**
 * What hosts must come to after the last fault: every Domain of a host's owner has its Secret with a valid
 * certificate and says Ready; those of others are refused; no orders are left.
 */
import type { ActorRecord } from '../../../src/actors/host/records.ts';
import type { KubeObject } from '../../../src/base/kube-port.ts';
import { domains, secrets } from '../../../src/features/certificates/resources.ts';
import type { DomainContext } from '../../../src/machines/domain/domain-context.ts';
import type { WorldParts } from '../features/feature-world.ts';
import { wholeContext } from '../features/whole-context.ts';
import { factsIn } from './certificate-effects.ts';
import type { CertificateScene } from './certificate-world.ts';

interface Status {
  readonly state?: string;
  readonly conditions?: ReadonlyArray<{
    readonly type: string;
    readonly status: string;
    readonly reason: string;
  }>;
}

export function unsettledHosts(
  { stage }: WorldParts,
  { authority, ordersPer3h, hosts }: CertificateScene,
  records: ReadonlyMap<string, ActorRecord>,
): readonly string[] {
  const { api, clock } = stage;
  const asking = api
    .all(domains)
    .filter(({ metadata }) => metadata.labels?.['orrery.dev/shown'] === undefined);
  const orders = authority.orders.filter(({ isSuggested }) => !isSuggested).length;
  return hosts.flatMap((host) => {
    const own = asking.filter(({ spec }) => (spec as { host: string }).host === host);
    const record = records.get(`domain/_/${host}`);
    if (own.length === 0)
      return record === undefined || record.gone || isRemembered(record)
        ? []
        : [`${host} is asked for by nobody`];
    if (record === undefined || record.gone) return [`${host} has no actor`];
    const { facts, deferral } = wholeContext(record) as DomainContext;
    const owner = facts?.owner ?? '';
    return own.flatMap((domain) =>
      untrue(
        domain,
        owner,
        orders >= ordersPer3h || deferral?.reason === 'budget',
        api.all(secrets),
        clock.now(),
      ),
    );
  });
}

function untrue(
  { metadata, spec, status }: KubeObject,
  owner: string,
  isSpent: boolean,
  all: readonly KubeObject[],
  now: number,
): readonly string[] {
  const { host } = spec as { host: string };
  const { namespace = '', name } = metadata;
  const { conditions = [] } = (status ?? {}) as Status;
  const ready = conditions.find(({ type }) => type === 'Ready');
  const secret = all.find((one) => one.metadata.namespace === namespace && one.metadata.name === host);
  const facts = factsIn(secret ?? null);
  const isValid = facts !== null && facts.notAfter > now;
  // The authority is there, and asks nobody to wait.
  if (ready?.reason === 'IssuerDown')
    return [`${namespace}/${name} (${host}) says that the authority is down`];
  if (namespace === owner) {
    if (isValid && ready?.status === 'True') return [];
    // With its budget spent, an Issuer gives no permits for three hours.
    if (isSpent && ready?.status === 'False') return [];
    return [
      `${namespace}/${name} (${host}) is ${ready?.status} ${ready?.reason}, its Secret ${isValid ? 'is valid' : 'is not'}`,
    ];
  }
  if (ready === undefined) return [`${namespace}/${name} (${host}) was told nothing`];
  return ready.reason === 'HostOwnedByAnother' || (isValid && ready.status === 'True') || isSpent
    ? []
    : [`${namespace}/${name} (${host}) is not the owner's, and is ${ready.status} ${ready.reason}`];
}

/** A host that nobody asks for, whose failures count for a while (docs/features/certificates.md §7.8). */
export function isRemembered(record: ActorRecord): boolean {
  const { formerly = null, leftovers } = wholeContext(record) as DomainContext;
  return record.snapshot.value === 'clearing' && formerly !== null && leftovers.length === 0;
}
