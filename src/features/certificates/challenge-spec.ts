/**
 * Reads `spec.acme.challenge` of an Issuer: how control of a host is proven, or why the text is unreadable.
 * Contains nothing secret.
 */
import * as v from 'valibot';
import { hostPort } from '../../base/config-values.ts';

/** RFC 2136, signed with a key from a Secret. */
export interface UpdateSpec {
  /** `host:port` */
  readonly server: string;
  /** null: ask the server for it. */
  readonly zone: string | null;
  readonly keyName: string;
  readonly algorithm: TsigAlgorithm;
  readonly secretRef: { readonly namespace: string; readonly name: string; readonly key: string };
}

/** A solver written for cert-manager. */
export interface SolverSpec {
  readonly groupName: string;
  readonly solverName: string;
  /** In the solver's own form. */
  readonly config?: unknown;
}

const tsigAlgorithms = ['hmac-sha256', 'hmac-sha512'] as const;
export type TsigAlgorithm = (typeof tsigAlgorithms)[number];

export interface DnsSpec {
  /** A URL, the only form in earlier releases, or a solver. */
  readonly webhook?: string | SolverSpec;
  readonly rfc2136?: UpdateSpec;
  /** Follows a CNAME of `_acme-challenge`. Absent: it is not followed. */
  readonly cnameStrategy?: 'Follow';
}

export interface HttpSpec {
  readonly ingress?: { readonly className: string | null };
  readonly gateway?: { readonly parentRefs: ReadonlyArray<Readonly<Record<string, unknown>>> };
}

export type ChallengeSpec = 'http01' | { readonly http01: HttpSpec } | { readonly dns01: DnsSpec };

const text = v.pipe(v.string('must be text'), v.minLength(1, 'must not be empty'));
const url = v.pipe(
  text,
  v.check((value) => /^https?:$/.test(URL.parse(value)?.protocol ?? ''), 'must be an http or https URL'),
);
/** A DNS name as people write it: a trailing dot is dropped. */
const dnsName = v.pipe(
  text,
  v.transform((value) => value.replace(/\.$/, '').toLowerCase()),
  v.check(
    (value) => value.length <= 253 && /^(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}$/.test(value),
    'must be a DNS name',
  ),
);

/** Stored in the world and in a record, so it has to be small. */
const configCharsMax = 16 * 1024;

const solver = v.strictObject({
  groupName: v.pipe(text, v.regex(/^[a-z0-9.-]{1,253}$/, 'must be the name of an API group')),
  solverName: v.pipe(text, v.regex(/^[a-z0-9.-]{1,253}$/, 'must be the name of a resource')),
  config: v.optional(
    v.pipe(
      v.unknown(),
      v.check((value) => (JSON.stringify(value) ?? '').length <= configCharsMax, 'must be at most 16 KiB'),
    ),
  ),
});

const server = v.pipe(
  text,
  v.transform((value) => (/^\[.*\]$|^[^:]*$/.test(value) ? `${value}:53` : value)),
  v.check(
    (value) => !value.startsWith(':') && (hostPort.read(value)?.port ?? 0) > 0,
    'must be host or host:port, such as ns1.example.com:53 or [2001:db8::1]:53',
  ),
);

const update = v.strictObject({
  server,
  zone: v.optional(v.nullable(dnsName), null),
  keyName: dnsName,
  algorithm: v.optional(
    v.pipe(
      text,
      v.transform((value) => value.replace(/\.$/, '').toLowerCase()),
      v.picklist(tsigAlgorithms, `must be ${tsigAlgorithms.join(' or ')}`),
    ),
    'hmac-sha256',
  ),
  secretRef: v.object({ name: text, namespace: text, key: v.optional(text, 'key') }, 'must be an object'),
});

const dns = v.strictObject({
  webhook: v.optional(v.union([url, solver], 'must be a URL, or an object with groupName and solverName')),
  rfc2136: v.optional(update),
  cnameStrategy: v.optional(v.picklist(['None', 'Follow'], 'must be None or Follow')),
});

const http = v.strictObject({
  ingress: v.optional(v.strictObject({ className: v.optional(v.nullable(text), null) })),
  gateway: v.optional(
    v.strictObject({
      parentRefs: v.pipe(
        v.array(v.looseObject({ name: text }, 'must be an object with a name'), 'must be a list'),
        v.minLength(1, 'must not be empty'),
        v.maxLength(32, 'must not be longer than 32'),
      ),
    }),
  ),
});

const form = 'must be http01, {http01: {ingress | gateway}} or {dns01: {webhook | rfc2136}}';

/** The checked challenge, or why it is invalid, starting at `spec.acme.challenge`. */
export function readChallenge(value: unknown): ChallengeSpec | { readonly invalid: string } {
  if (value === 'http01') return value;
  const { http01, dns01, ...others } = (typeof value === 'object' && value !== null ? value : {}) as Record<
    string,
    unknown
  >;
  if ((http01 === undefined) === (dns01 === undefined) || Object.keys(others).length > 0)
    return { invalid: form };
  return http01 === undefined ? readDns(dns01) : readHttp(http01);
}

function readHttp(value: unknown): ChallengeSpec | { readonly invalid: string } {
  const read = v.safeParse(http, value);
  if (!read.success) return { invalid: reasons('http01', read.issues) };
  const { ingress, gateway } = read.output;
  if (ingress !== undefined && gateway === undefined) return { http01: { ingress } };
  if (gateway !== undefined && ingress === undefined) return { http01: { gateway } };
  return { invalid: 'http01: must have exactly one of ingress and gateway' };
}

function readDns(value: unknown): ChallengeSpec | { readonly invalid: string } {
  const read = v.safeParse(dns, value);
  if (!read.success) return { invalid: reasons('dns01', read.issues) };
  const { webhook, rfc2136, cnameStrategy } = read.output;
  const followed = cnameStrategy === 'Follow' ? { cnameStrategy } : {};
  if (webhook !== undefined && rfc2136 === undefined) return { dns01: { webhook, ...followed } };
  if (rfc2136 !== undefined && webhook === undefined) return { dns01: { rfc2136, ...followed } };
  return { invalid: 'dns01: must have exactly one of webhook and rfc2136' };
}

function reasons(place: string, issues: readonly [v.BaseIssue<unknown>, ...v.BaseIssue<unknown>[]]): string {
  return issues
    .slice(0, 3)
    .map((issue) => {
      const path = v.getDotPath(issue);
      const message = issue.type === 'strict_object' ? 'is not a field of it, or is missing' : issue.message;
      return `${path === null ? place : `${place}.${path}`}: ${message}`;
    })
    .join('; ');
}
