/**
 * The domain of the cluster's DNS names, from the resolver configuration that the kubelet gives every Pod.
 *
 * Rule (Tailscale's operator): the first three search domains are `<namespace>.svc.D`, `svc.D` and `D`, in
 * that order, in any case, with or without a final dot. Anything else means `cluster.local`.
 */

import { readFileSync, statSync } from 'node:fs';
import type { FeatureParts } from '../../actors/feature.ts';
import { asError } from '../../base/errors.ts';

export const defaultClusterDomain = 'cluster.local';

/** @param namespace this Pod's; absent: any one label counts */
export function parseClusterDomain(resolvConf: string, namespace?: string): string {
  const [first = '', second = '', third = ''] = searchDomains(resolvConf);
  if (third === '' || second !== `svc.${third}`) return defaultClusterDomain;
  const label = namespace?.toLowerCase() ?? first.split('.', 1)[0];
  return label !== '' && first === `${label}.${second}` ? third : defaultClusterDomain;
}

export interface ClusterDomainParts extends Pick<FeatureParts, 'clock' | 'log'> {
  readonly namespace?: string;
  /** Default `/etc/resolv.conf`. */
  readonly path?: string;
}

/** The file seldom changes, and the caller waits while it is looked at. */
const lookAgainMs = 10_000;

/**
 * Reads the file when the domain is first asked for, and again when it has changed. If the file cannot be
 * read, the last known domain stays.
 */
export function createClusterDomain(parts: ClusterDomainParts) {
  const { clock, log, namespace, path = '/etc/resolv.conf' } = parts;
  let domain = defaultClusterDomain;
  let form = '';
  let lookedAt = Number.NEGATIVE_INFINITY;

  const look = () => {
    lookedAt = clock.monotonic();
    try {
      const { mtimeMs, size, ino } = statSync(path);
      const now = `${mtimeMs}/${size}/${ino}`;
      if (now === form) return;
      domain = parseClusterDomain(readFileSync(path, 'utf8'), namespace);
      form = now;
      log.info({ domain }, 'the domain of the cluster');
    } catch (thrown) {
      log.warn({ path, error: asError(thrown).message, domain }, 'the resolver configuration cannot be read');
    }
  };
  return {
    /** The present domain; looks at the file at most every 10 s. */
    current(): string {
      if (clock.monotonic() - lookedAt >= lookAgainMs) look();
      return domain;
    },
  };
}

/** The domains of the last `search` or `domain` line: the later one counts (resolv.conf(5)). */
function searchDomains(resolvConf: string): readonly string[] {
  const lines = resolvConf.split('\n').map((line) =>
    line
      .replace(/[#;].*$/, '')
      .trim()
      .split(/\s+/),
  );
  const [, ...domains] = lines.findLast(([keyword]) => keyword === 'search' || keyword === 'domain') ?? [];
  return domains.map((domain) => domain.toLowerCase().replace(/\.$/, ''));
}
