/** The name of a host's Secret where none is given. Pure. */

/** A wildcard's is legal, too. */
export function secretNameOf(host: string): string {
  return host.startsWith('*.') ? `wildcard.${host.slice(2)}` : host;
}
