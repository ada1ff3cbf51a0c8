/**
 * Election: from the specification as somebody wrote it to one that can be relied on, or to the reason why it
 * cannot.
 */

import type { KubeObject } from '../../base/kube-port.ts';
import { isDnsLabel } from '../../kube/api/name-syntax.ts';
import type { ElectionSpec } from '../../machines/election/lease-record.ts';
import { defaultTiming, timingError } from '../../machines/election/lease-record.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * The schema of the custom resource refuses most of what is wrong; a resource can be older than its schema.
 */
export function readElectionSpec({ metadata, spec }: KubeObject): ElectionSpec {
  const fields = (spec ?? {}) as Fields;
  const lease = (fields.lease ?? {}) as Fields;
  const timing = {
    leaseMs: milliseconds(fields.leaseDurationSeconds, defaultTiming.leaseMs),
    renewDeadlineMs: milliseconds(fields.renewDeadlineSeconds, defaultTiming.renewDeadlineMs),
    retryMs: milliseconds(fields.retryPeriodSeconds, defaultTiming.retryMs),
  };
  const place = {
    namespace: text(lease.namespace, metadata.namespace ?? ''),
    name: text(lease.name, metadata.name),
  };
  const { releaseOnCancel = true } = fields;
  return {
    place,
    timing,
    releaseOnCancel: releaseOnCancel !== false,
    invalid: timingError(timing) ?? placeError(place),
  };
}

function placeError({ namespace, name }: ElectionSpec['place']): string | null {
  if (!isDnsLabel(namespace)) return `"${namespace.slice(0, 63)}" is no namespace`;
  return name.split('.').every(isDnsLabel) ? null : `"${name.slice(0, 63)}" is not a valid Lease name`;
}

/** NaN where something stands that is no number: the times are then refused. */
function milliseconds(seconds: unknown, instead: number): number {
  if (seconds === undefined || seconds === null) return instead;
  return typeof seconds === 'number' ? seconds * 1_000 : Number.NaN;
}

function text(value: unknown, instead: string): string {
  return typeof value === 'string' && value !== '' ? value : instead;
}
