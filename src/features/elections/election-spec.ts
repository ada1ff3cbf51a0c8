/**
 * Reads the specification of an Election: checked and with defaults, or the reasons why it is unusable.
 */
import * as v from 'valibot';
import type { KubeObject } from '../../base/kube-port.ts';
import { record } from '../../kube/api/fields.ts';
import { namespaceName, objectName, readSpec, rule, shape, whole } from '../../kube/api/spec-fields.ts';
import { defaultTiming, type ElectionSpec } from '../../machines/election/lease-record.ts';

const defaults = {
  leaseDurationSeconds: defaultTiming.leaseMs / 1_000,
  renewDeadlineSeconds: defaultTiming.renewDeadlineMs / 1_000,
  retryPeriodSeconds: defaultTiming.retryMs / 1_000,
  releaseOnCancel: true,
};
const seconds = (instead: number) => v.optional(whole(1, 86_400), instead);

export const electionSpec = v.optional(
  v.pipe(
    shape({
      lease: v.optional(shape({ name: objectName, namespace: v.exactOptional(namespaceName) })),
      leaseDurationSeconds: seconds(defaults.leaseDurationSeconds),
      renewDeadlineSeconds: seconds(defaults.renewDeadlineSeconds),
      retryPeriodSeconds: seconds(defaults.retryPeriodSeconds),
      releaseOnCancel: v.optional(v.boolean('must be true or false'), defaults.releaseOnCancel),
    }),
    rule(
      'self.leaseDurationSeconds > self.renewDeadlineSeconds',
      (of) => of.leaseDurationSeconds > of.renewDeadlineSeconds,
      'leaseDurationSeconds must be greater than renewDeadlineSeconds',
    ),
    rule(
      'self.renewDeadlineSeconds * 10 > self.retryPeriodSeconds * 12',
      (of) => of.renewDeadlineSeconds * 10 > of.retryPeriodSeconds * 12,
      'renewDeadlineSeconds must be greater than retryPeriodSeconds × 1.2',
    ),
  ),
  // Given in full, because a default is checked before the defaults of its fields apply.
  defaults,
);

export function readElectionSpec({ metadata, spec }: KubeObject): ElectionSpec {
  // Also for an unusable one: a leader that was told to lead by that Lease is awaited there.
  const { namespace, name } = record(record(spec).lease);
  const place = { namespace: text(namespace, metadata.namespace ?? ''), name: text(name, metadata.name) };
  const read = readSpec(electionSpec, spec ?? undefined);
  if ('invalid' in read)
    return { place, timing: defaultTiming, releaseOnCancel: defaults.releaseOnCancel, ...read };
  const timing = {
    leaseMs: read.leaseDurationSeconds * 1_000,
    renewDeadlineMs: read.renewDeadlineSeconds * 1_000,
    retryMs: read.retryPeriodSeconds * 1_000,
  };
  return { place, timing, releaseOnCancel: read.releaseOnCancel, invalid: null };
}

function text(value: unknown, instead: string): string {
  return typeof value === 'string' && value !== '' ? value : instead;
}
