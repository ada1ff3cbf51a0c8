/**
 * Reads the specification of an Issuer: checked and with defaults, or the reasons why it is unusable.
 *
 * The custom resource's schema refuses most errors already; they are checked again here, because an object
 * can be older than its schema. Contains nothing secret: keys are named by their Secrets.
 */
import { X509Certificate } from 'node:crypto';
import * as v from 'valibot';
import type { LabelSelector } from '../../base/digests.ts';
import {
  bounded,
  formed,
  type Invalid,
  labelSelector,
  namespaceName,
  objectName,
  readSpec,
  rule,
  shape,
  whole,
} from '../../kube/api/spec-fields.ts';
import { type ChallengeSpec, readChallenge } from './challenge-spec.ts';
import { readPattern } from './hosts.ts';

/**
 * The limits of Let's Encrypt (letsencrypt.org/docs/rate-limits): new orders, certificates of a registered
 * domain, duplicates.
 */
const acmeBudget = { ordersPer3h: 300, certificatesPerDomainPer7d: 50, duplicatesPer7d: 5 };
/** A private CA has no limits; if only some are given, the others are unreachable. */
const noBudget = { ordersPer3h: 1e6, certificatesPerDomainPer7d: 1e6, duplicatesPer7d: 1e6 };

type Written = v.InferOutput<typeof issuerSpec>;
export type IssuerSpec = Omit<Written, 'allowedNamespaces' | 'budget'> & {
  /** Selects the namespaces that it serves; null, or absent in the world of earlier releases: all. */
  readonly allowedNamespaces?: LabelSelector | null;
  /** null: no limits. */
  readonly budget: Required<NonNullable<Written['budget']>> | null;
};
export type AcmeSpec = NonNullable<Written['acme']>;
export type CaSpec = NonNullable<Written['ca']>;
/** The place of a Secret. */
export type SecretRef = CaSpec['secret'];

/** The specification with its defaults, or what is wrong with it and why. */
export function readIssuerSpec(spec: unknown): IssuerSpec | Invalid {
  const read = readSpec(issuerSpec, spec);
  if ('invalid' in read) return read;
  const { budget, acme } = read;
  const isUnlimited = budget === null && acme === null;
  return { ...read, budget: isUnlimited ? null : { ...(acme === null ? noBudget : acmeBudget), ...budget } };
}

/** `24h`, `90m`, `1h30m`: Go's format of durations. @returns ms; null: invalid, or not positive */
export function readDuration(text: string): number | null {
  if (!/^(?:[0-9]+(?:\.[0-9]+)?[hms])+$/.test(text)) return null;
  const units: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000 };
  let ms = 0;
  for (const [, amount = '0', unit = 's'] of text.matchAll(/([0-9.]+)([hms])/g)) {
    ms += Number(amount) * (units[unit] ?? 0);
  }
  return ms > 0 ? Math.round(ms) : null;
}

/** The parsed value of a text, or why it is invalid. */
const becomes = <I, T extends string | number | object>(make: (value: I) => T | Invalid) =>
  v.rawTransform<I, T>(({ dataset, addIssue, NEVER }) => {
    const made = make(dataset.value);
    if (typeof made !== 'object' || !('invalid' in made)) return made;
    addIssue({ message: made.invalid });
    return NEVER;
  });

const filled = (max: number) => v.pipe(bounded(max), v.minLength(1, 'must not be empty'));
const secretPlace = { name: objectName, namespace: namespaceName };
const secret = shape(secretPlace, 'must have name and namespace');
const badUrl = 'must be an http or https URL';

const certificates = v.pipe(
  bounded(131_072),
  v.check((pem) => {
    try {
      return new X509Certificate(pem).fingerprint !== '';
    } catch {
      return false;
    }
  }, 'must be certificates in PEM'),
);

const eab = shape({
  keyId: filled(1024),
  secretRef: shape({ ...secretPlace, key: v.optional(filled(253), 'hmac') }),
});

const acme = shape({
  server: v.pipe(
    formed(2048, /^https?:\/\/\S+$/, badUrl),
    v.check((url) => URL.canParse(url), badUrl),
  ),
  email: v.optional(v.nullable(bounded(320)), null),
  caBundle: v.optional(v.nullable(certificates), null),
  eab: v.optional(v.nullable(eab), null),
  profile: v.optional(v.nullable(bounded(64)), null),
  accountSecret: secret,
  challenge: v.optional(v.pipe(v.unknown(), becomes<unknown, ChallengeSpec>(readChallenge)), 'http01'),
});

/** Long enough for any use, short enough for X.509's four-digit years. */
const lifetimeMsMax = 100 * 365 * 24 * 3_600_000;
const badLifetime = 'must be a duration of at least 1m, such as 24h';

const lifetime = v.pipe(
  formed(32, /^([0-9]+(\.[0-9]+)?[hms])+$/, badLifetime),
  v.transform((value) => readDuration(value) ?? 0),
  v.check((ms) => ms >= 60_000 && ms <= lifetimeMsMax, badLifetime),
);

const ca = v.pipe(
  shape({ secret, lifetime: v.optional(lifetime, '24h') }),
  v.transform(({ secret, lifetime }) => ({ secret, lifetimeMs: lifetime })),
);

const host = v.pipe(formed(253, /^\S+$/, 'must be a pattern of hosts'), v.minLength(1), becomes(readPattern));
const limit = v.exactOptional(whole(1));

export const issuerSpec = v.pipe(
  shape({
    domains: v.pipe(
      v.array(host, 'must be a list'),
      v.minLength(1, 'must not be empty'),
      v.maxLength(256, 'must have at most 256 entries'),
    ),
    allowedNamespaces: v.exactOptional(labelSelector),
    acme: v.optional(v.nullable(acme), null),
    ca: v.optional(v.nullable(ca), null),
    budget: v.optional(
      v.nullable(shape({ ordersPer3h: limit, certificatesPerDomainPer7d: limit, duplicatesPer7d: limit })),
      null,
    ),
  }),
  rule(
    'has(self.acme) != has(self.ca)',
    (of) => (of.acme === null) !== (of.ca === null),
    'exactly one of acme and ca must be given',
  ),
);
