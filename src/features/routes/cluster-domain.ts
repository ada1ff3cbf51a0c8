/**
 * The domain of the cluster's DNS names, from the resolver configuration that the kubelet gives every Pod.
 *
 * Rule (Tailscale's operator): the first three search domains are `<namespace>.svc.D`, `svc.D` and `D`, in
 * that order, in any case, with or without a dot at the end. Anything else means `cluster.local`.
 */

import { readFileSync, statSync } from 'node:fs';
import type { FeatureParts } from '../../actors/feature.ts';
import { asError } from '../../base/errors.ts';

export const defaultClusterDomain = 'cluster.local';

/** @param namespace of this Pod; absent: any one label counts */
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

/** The file seldom changes; whoever asks waits for a look at it, so it is short and rare. */
const lookAgainMs = 10_000;

/** Reads the file now, and again when it has changed. A file that cannot be read leaves what was known. */
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
    /** As it is now; the file is looked at again at most every 10 s. */
    current(): string {
      if (clock.monotonic() - lookedAt >= lookAgainMs) look();
      return domain;
    },
  };
}

/** Of the last `search` or `domain` line: the later one holds (resolv.conf(5)). */
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
