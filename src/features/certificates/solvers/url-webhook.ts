/**
 * DNS-01 by a webhook of the operator, which is told what to publish (docs/features/certificates.md,
 * Challenges). Both actions are idempotent.
 */
import { OrreryError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import type { WebhookExhibit } from '../../../machines/domain/exhibit.ts';
import { type HttpCall, type HttpClient, placeOf } from '../acme/authority-http.ts';

/**
 * @throws OrreryError ACME_REFUSED if the webhook refuses; never ACME_UNREACHABLE, because it is not the
 *   authority's fault
 */
export async function callWebhook(
  http: HttpClient,
  { url, fqdn, value }: Omit<WebhookExhibit, 'kind'>,
  action: 'present' | 'cleanup',
  signal: AbortSignal,
): Promise<void> {
  const refused = (why: string) => new OrreryError('ACME_REFUSED', `webhook ${placeOf(url)} ${why}`);
  const call: HttpCall = {
    method: 'POST',
    url,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ action, fqdn, value }),
    caBundle: null,
    timeoutMs: limits.acmeWebhookMs,
  };
  const ask = () => http(call, signal);
  // The other side may close a kept connection at the moment of its use. For a second wait an attempt has no
  // time.
  const again = (thrown: unknown) => {
    signal.throwIfAborted();
    if (thrown instanceof OrreryError && thrown.facts.timedOut === true) throw thrown;
    return ask();
  };
  const answer = await ask()
    .catch(again)
    .catch((thrown) => {
      signal.throwIfAborted();
      throw refused(`cannot be reached: ${String((thrown as Error).message)}`);
    });
  if (answer.status < 200 || answer.status > 299) throw refused(`answered ${answer.status}`);
}
