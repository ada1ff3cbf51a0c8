/**
 * Reads the specification of a Domain: checked and with defaults, or the reasons why it is unusable.
 */
import * as v from 'valibot';
import {
  formed,
  type Invalid,
  namespaceName,
  objectName,
  readSpec,
  shape,
} from '../../kube/api/spec-fields.ts';
import { secretNameOf } from '../../machines/domain/domain-facts.ts';
import { readHost } from './hosts.ts';

export type DomainSpec = Omit<v.InferOutput<typeof domainSpec>, 'secretName'> & {
  readonly secretName: string;
};

export function readDomainSpec(spec: unknown): DomainSpec | Invalid {
  const read = readSpec(domainSpec, spec);
  if ('invalid' in read) return read;
  const host = readHost(read.host);
  if (typeof host !== 'string') return { invalid: `spec.host: ${host.invalid}` };
  return { ...read, host, secretName: read.secretName ?? secretNameOf(host) };
}

export const domainSpec = shape({
  host: v.pipe(formed(254, /^\S+$/, 'must be a host name'), v.minLength(1)),
  secretName: v.exactOptional(objectName),
  /** null: any. */
  issuer: v.optional(v.nullable(objectName), null),
  /** Further namespaces that may have the key; absent: none. */
  sharedWith: v.exactOptional(
    v.pipe(
      v.array(namespaceName, 'must be a list'),
      v.maxLength(64, 'must have at most 64 entries'),
      v.metadata({ 'x-kubernetes-list-type': 'set' }),
    ),
  ),
});
