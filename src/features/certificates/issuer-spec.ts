/**
 * Issuer: from the specification as somebody wrote it to one that can be relied on, or to the reasons why it
 * cannot.
 *
 * The schema of the custom resource refuses most of this already; here it is judged again, since a resource
 * can be older than its schema. Nothing secret is in it: keys are named by the Secrets that hold them.
 */
import { X509Certificate } from 'node:crypto';
import * as v from 'valibot';
import type { LabelSelector } from '../../base/digests.ts';
import { attempt } from '../../base/errors.ts';
import { type ChallengeSpec, readChallenge } from './challenge-spec.ts';
import type { IssuerSpec } from './digests.ts';
import { readPattern } from './hosts.ts';

/**
 * The limits of Let's Encrypt (letsencrypt.org/docs/rate-limits): new orders, certificates of a registered
 * domain, duplicates.
 */
const acmeBudget = { ordersPer3h: 300, certificatesPerDomainPer7d: 50, duplicatesPer7d: 5 };
/** A CA of one's own has no limits; of those that are named only some, the others are out of reach. */
const noBudget = { ordersPer3h: 1e6, certificatesPerDomainPer7d: 1e6, duplicatesPer7d: 1e6 };

/** The specification with its defaults, or what is wrong with it and why. */
export function readIssuerSpec(spec: unknown): IssuerSpec | { readonly invalid: string } {
  const result = v.safeParse(issuerSpec, spec);
  if (!result.success) {
    const reasons = result.issues.slice(0, 5).map((issue) => {
      const path = v.getDotPath(issue);
      return `${path === null ? 'spec' : `spec.${path}`}: ${issue.message}`;
    });
    return { invalid: reasons.join('; ') };
  }
  const { domains, allowedNamespaces, acme, ca, budget } = result.output;
  if ((acme === null) === (ca === null)) return { invalid: 'spec: must have exactly one of acme and ca' };
  return {
    domains,
    ...(allowedNamespaces === null ? {} : { allowedNamespaces: allowedNamespaces as LabelSelector }),
    acme,
    ca: ca === null ? null : { secret: ca.secret, lifetimeMs: ca.lifetime },
    budget: budgetOf(budget, acme !== null),
  };
}

function budgetOf(budget: v.InferOutput<typeof budgetSpec> | null, isAcme: boolean): IssuerSpec['budget'] {
  if (budget === null) return isAcme ? acmeBudget : null;
  const given = Object.fromEntries(Object.entries(budget).filter(([, value]) => value !== undefined));
  return { ...(isAcme ? acmeBudget : noBudget), ...given };
}

/** `24h`, `90m`, `1h30m`: as Go writes durations. @returns ms; null: it is none, or not positive */
export function readDuration(text: string): number | null {
  if (!/^(?:[0-9]+(?:\.[0-9]+)?[hms])+$/.test(text)) return null;
  const units: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000 };
  let ms = 0;
  for (const [, amount = '0', unit = 's'] of text.matchAll(/([0-9.]+)([hms])/g)) {
    ms += Number(amount) * (units[unit] ?? 0);
  }
  return ms > 0 ? Math.round(ms) : null;
}

const text = v.pipe(v.string('must be text'), v.minLength(1, 'must not be empty'));
const url = v.pipe(
  text,
  v.check((value) => /^https?:$/.test(URL.parse(value)?.protocol ?? ''), 'must be an http or https URL'),
);
const secretRef = v.object({ name: text, namespace: text }, 'must have name and namespace');
const whole = v.pipe(
  v.number('must be a number'),
  v.integer('must be a whole number'),
  v.minValue(1, 'must be at least 1'),
);

const pattern = v.pipe(
  text,
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    const read = readPattern(dataset.value);
    if (typeof read === 'string') return read;
    addIssue({ message: read.invalid });
    return NEVER;
  }),
);

const certificates = v.pipe(
  text,
  v.check((pem) => {
    return attempt(() => new X509Certificate(pem).fingerprint !== '', false);
  }, 'must be certificates in PEM'),
);

const challenge = v.pipe(
  v.unknown(),
  v.rawTransform(({ dataset, addIssue, NEVER }): ChallengeSpec => {
    const read = readChallenge(dataset.value);
    if (typeof read === 'string' || !('invalid' in read)) return read;
    addIssue({ message: read.invalid });
    return NEVER;
  }),
);

const acmeSpec = v.object(
  {
    server: url,
    email: v.optional(v.nullable(text), null),
    caBundle: v.optional(v.nullable(certificates), null),
    eab: v.optional(
      v.nullable(
        v.object({
          keyId: text,
          secretRef: v.object({ name: text, namespace: text, key: v.optional(text, 'hmac') }),
        }),
      ),
      null,
    ),
    profile: v.optional(v.nullable(text), null),
    accountSecret: secretRef,
    challenge: v.optional(challenge, 'http01'),
  },
  'must be an object',
);

/** Long enough for any use, short enough for X.509's four-digit years. */
const lifetimeMsMax = 100 * 365 * 24 * 3_600_000;

const lifetime = v.pipe(
  text,
  v.transform((value) => readDuration(value) ?? 0),
  v.check((ms) => ms >= 60_000 && ms <= lifetimeMsMax, 'must be a duration of at least 1m, such as 24h'),
);

const budgetSpec = v.object({
  ordersPer3h: v.optional(whole),
  certificatesPerDomainPer7d: v.optional(whole),
  duplicatesPer7d: v.optional(whole),
});

/** A LabelSelector of metav1; one that is empty selects every namespace. */
const selector = v.object(
  {
    matchLabels: v.optional(v.record(text, v.string('must be text'))),
    matchExpressions: v.optional(
      v.array(
        v.object({
          key: text,
          operator: v.picklist(['In', 'NotIn', 'Exists', 'DoesNotExist'], 'must be an operator of selectors'),
          values: v.optional(v.array(v.string('must be text'))),
        }),
        'must be a list',
      ),
    ),
  },
  'must be a label selector',
);

const issuerSpec = v.object(
  {
    domains: v.pipe(v.array(pattern, 'must be a list'), v.minLength(1, 'must not be empty')),
    allowedNamespaces: v.optional(v.nullable(selector), null),
    acme: v.optional(v.nullable(acmeSpec), null),
    ca: v.optional(
      v.nullable(v.object({ secret: secretRef, lifetime: v.optional(lifetime, '24h') }, 'must be an object')),
      null,
    ),
    budget: v.optional(v.nullable(budgetSpec), null),
  },
  'must be an object',
);
