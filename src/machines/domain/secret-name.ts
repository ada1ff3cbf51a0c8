/** The default name of a host's Secret. Pure. */

/** Valid for wildcards, too. */
export function secretNameOf(host: string): string {
  return host.startsWith('*.') ? `wildcard.${host.slice(2)}` : host;
}
