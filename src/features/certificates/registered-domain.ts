/**
 * The domain that an authority counts its limits by: a public suffix and one label more. The one file that
 * knows the public suffix list.
 */
import { getDomain } from 'tldts';

/** A name under no public suffix (a cluster's own) counts by its last two labels. */
export function registeredDomain(host: string): string {
  const name = host.replace(/^\*\./, '');
  return getDomain(name, { allowPrivateDomains: true }) ?? name.split('.').slice(-2).join('.');
}
