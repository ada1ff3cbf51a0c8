/**
 * Takes over the certificates of one namespace from cert-manager: reads, plans, and writes
 * (docs/features/certificates.md, Moving in).
 *
 * Promises: nothing of cert-manager's is deleted; a Secret is taken over only unchanged since it was read;
 * run again, it continues. With `isDry` nothing is written.
 */
import { hasCode, OrreryError } from '../../../base/errors.ts';
import type { KubeObject, KubePort, KubeResource } from '../../../base/kube-port.ts';
import { find } from '../effects/certificate-secrets.ts';
import { domains, issuers, secrets } from '../resources.ts';
import type { TheirIssuer } from './adopted-issuers.ts';
import { readCertificate, theirCertificates, theirClusterIssuers, theirIssuers } from './foreign-objects.ts';
import { type Found, planAdoption, type Step } from './plan.ts';

export interface AdoptionOptions {
  readonly namespace: string;
  /** Where cert-manager keeps the Secrets of ClusterIssuers. */
  readonly clusterNamespace: string;
  readonly isDry: boolean;
}

/**
 * @param say receives one line for each step, as it is done
 * @throws OrreryError KUBE_…
 */
export async function adoptCertificates(
  kube: KubePort,
  { namespace, clusterNamespace, isDry }: AdoptionOptions,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const steps = planAdoption(await look(kube, namespace, clusterNamespace, signal));
  if (steps.length === 0) say(`there are no Certificates in namespace ${namespace}`);
  for (const step of steps) {
    if (!isDry) await write(kube, namespace, step, signal);
    say(step.line);
  }
  if (isDry && steps.length > 0) say('nothing was written (--dry-run)');
}

async function look(
  kube: KubePort,
  namespace: string,
  clusterNamespace: string,
  signal: AbortSignal,
): Promise<Found> {
  const all = async (resource: KubeResource) =>
    (await kube.list(resource, resource.namespaced ? { namespace } : {}, signal)).items;
  const [certificates, local, cluster] = await Promise.all(
    [theirCertificates, theirIssuers, theirClusterIssuers].map(all),
  ).catch((thrown) => {
    if (!hasCode(thrown, 'KUBE_NOT_FOUND')) throw thrown;
    throw new OrreryError(
      'KUBE_NOT_FOUND',
      'the cluster does not know cert-manager’s kinds (cert-manager.io/v1)',
    );
  });
  const names = new Set((certificates ?? []).map((one) => readCertificate(one).secretName));
  const held = await Promise.all([...names].map((name) => find(kube, namespace, name, signal)));
  const theirs = (kind: string, at: string, objects: readonly KubeObject[] = []): TheirIssuer[] =>
    objects.map((object) => ({ kind, object, namespace: at }));
  const [ownDomains, ownIssuers] = await Promise.all([all(domains), all(issuers)]);
  return {
    namespace,
    certificates: certificates ?? [],
    issuers: [...theirs('Issuer', namespace, local), ...theirs('ClusterIssuer', clusterNamespace, cluster)],
    secrets: new Map(held.flatMap((one) => (one === null ? [] : [[one.metadata.name, one]]))),
    ownDomains,
    ownIssuers,
  };
}

async function write(kube: KubePort, namespace: string, step: Step, signal: AbortSignal): Promise<void> {
  switch (step.do) {
    case 'createIssuer':
      await kube.create(issuers, step.object, signal);
      return;
    case 'createDomain':
      await kube.create(domains, step.object, signal);
      return;
    case 'extendIssuer':
      await kube.patch(issuers, { name: step.name, type: 'merge', body: step.body }, signal);
      return;
    case 'takeSecret':
      await kube.patch(secrets, { namespace, name: step.name, type: 'merge', body: step.body }, signal);
      return;
    case 'say':
      return;
  }
}
