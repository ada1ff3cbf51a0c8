/**
 * DNS-01 by a solver written for cert-manager: an API group behind the Kubernetes API that presents a record
 * or cleans it up.
 *
 * The request and the answer have cert-manager's form, `webhook.acme.cert-manager.io/v1alpha1`.
 */
import { OrreryError } from '../../../base/errors.ts';
import type { KubePort } from '../../../base/kube-port.ts';
import { limits } from '../../../base/limits.ts';
import type { SolverExhibit } from '../../../machines/domain/exhibit.ts';

const version = 'v1alpha1';
const payload = { apiVersion: `webhook.acme.cert-manager.io/${version}`, kind: 'ChallengePayload' };

/**
 * @param uid of this request
 * @throws OrreryError ACME_REFUSED with the solver's message; KUBE_…
 */
export async function askSolver(
  kube: Pick<KubePort, 'ask'>,
  exhibit: SolverExhibit,
  { action, uid }: { readonly action: 'Present' | 'CleanUp'; readonly uid: string },
  signal: AbortSignal,
): Promise<void> {
  const { groupName, solverName, config } = exhibit;
  const resource = { group: groupName, version, plural: solverName, kind: payload.kind, namespaced: false };
  const request = {
    uid,
    action,
    type: 'dns-01',
    dnsName: exhibit.dnsName,
    key: exhibit.value,
    resourceNamespace: exhibit.namespace,
    resolvedFQDN: `${exhibit.fqdn}.`,
    resolvedZone: `${exhibit.zone}.`,
    allowAmbientCredentials: false,
    ...(config === undefined ? {} : { config }),
  };
  const answer = await kube.ask(
    resource,
    { ...payload, request },
    { timeoutMs: limits.acmeWebhookMs },
    signal,
  );
  const why = faultIn(answer, uid);
  if (why === null) return;
  throw new OrreryError(
    'ACME_REFUSED',
    `solver ${solverName} of ${groupName}, ${action} ${exhibit.fqdn}: ${why}`,
  );
}

/** Why the solver failed; null: it succeeded. */
function faultIn(answer: unknown, uid: string): string | null {
  const { response } = (answer ?? {}) as { response?: unknown };
  if (typeof response !== 'object' || response === null) return 'it answers without a response';
  const { success, uid: ofResponse, status } = response as Record<string, unknown>;
  if (success === true) return ofResponse === uid ? null : 'it answers another question';
  const { message, reason } = (status ?? {}) as { message?: unknown; reason?: unknown };
  const words = [message, reason].find((one): one is string => typeof one === 'string' && one !== '');
  return words?.slice(0, 300) ?? 'it refuses without a word';
}
