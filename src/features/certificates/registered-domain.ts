/**
 * The domain by which an authority counts its limits: a public suffix and one more label. The only file that
 * knows the public suffix list.
 */
import { getDomain } from 'tldts';

/** A name without a public suffix (a cluster's own) counts by its last two labels. */
export function registeredDomain(host: string): string {
  const name = host.replace(/^\*\./, '');
  return getDomain(name, { allowPrivateDomains: true }) ?? name.split('.').slice(-2).join('.');
}
