/**
 * Checks whether a NATS server is new enough.
 *
 * Per-message TTL, subject transforms and guards on another subject need 2.12. On replicated streams, guards
 * were unsafe before 2.12.14 and 2.14.4 (there was no 2.13 release line), so a cluster needs one of those, or
 * 2.15.
 */
import { OrreryError } from '../../../base/errors.ts';

export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

const single: Version = { major: 2, minor: 12, patch: 0 };

/** undefined if the text is no version. Anything after the third number (`-RC.1`, `-dev`) is ignored. */
export function parseVersion(text: string): Version | undefined {
  const [, major, minor, patch] = /^v?(\d+)\.(\d+)\.(\d+)(?:[-+.].*)?$/.exec(text.trim()) ?? [];
  if (major === undefined) return undefined;
  return { major: Number(major), minor: Number(minor), patch: Number(patch) };
}

export function isAtLeast(version: Version, least: Version): boolean {
  if (version.major !== least.major) return version.major > least.major;
  if (version.minor !== least.minor) return version.minor > least.minor;
  return version.patch >= least.patch;
}

/** @throws OrreryError BUS_VERSION, which names the versions that would do */
export function checkServerVersion(text: string, isCluster: boolean): void {
  const version = parseVersion(text);
  if (version && (isCluster ? isSafeInCluster(version) : isAtLeast(version, single))) return;
  const wanted = isCluster
    ? 'a NATS cluster must run 2.12.14 or a later 2.12, 2.14.4 or a later 2.14, or 2.15 and newer (older ones break conditional writes on replicated streams)'
    : 'a single NATS server must be 2.12 or newer';
  throw new OrreryError('BUS_VERSION', `the NATS server is version "${text}"; ${wanted}`, {
    facts: { version: text, isCluster },
  });
}

function isSafeInCluster(version: Version): boolean {
  if (version.major !== 2) return version.major > 2;
  if (version.minor === 12) return version.patch >= 14;
  if (version.minor === 14) return version.patch >= 4;
  return version.minor >= 15;
}
