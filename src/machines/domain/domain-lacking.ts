/**
 * The sources whose own Secret lacks the host's certificate: each is told about its own Secret
 * (docs/features/certificates.md §9.2). Pure.
 */
import { type DomainContext, keyOf } from './domain-context.ts';
import { type DomainSource, secretNameOf, type Target } from './domain-facts.ts';

export interface Lack {
  readonly uid: string;
  readonly reason: 'SecretNotOurs' | 'SecretNotWritten';
  readonly message: string;
}

type Lacking = Pick<DomainContext, 'host' | 'facts' | 'foreign' | 'missing' | 'lastError'>;

/** The sources whose Secret lacks the certificate; usually empty. */
export function lackingIn(context: Lacking): readonly Lack[] {
  const { facts } = context;
  if (facts === null || isWhole(context)) return [];
  return facts.sources.flatMap((source) => {
    const lack = lackAt(context, targetOf(context.host, source));
    return lack === null ? [] : [{ uid: source.uid, ...lack }];
  });
}

/** The usual case: no Secret lacks it. */
const isWhole = ({ facts, foreign, missing }: Lacking) =>
  foreign.length === 0 &&
  missing.length === 0 &&
  facts?.taken.length === 0 &&
  facts.targets.length < targetsMax;

/** Secrets to which one certificate is written: far more than people name, and small in a record. */
export const targetsMax = 16;

const targetOf = (host: string, { namespace, secretName = secretNameOf(host) }: DomainSource): Target => ({
  namespace,
  secretName,
});

function lackAt({ facts, foreign, missing, lastError }: Lacking, target: Target): Omit<Lack, 'uid'> | null {
  const key = keyOf(target);
  const isThis = (one: Target) => keyOf(one) === key;
  const taken = facts?.taken.find(isThis);
  if (taken !== undefined) return { reason: 'SecretNotOurs', message: `${takenText(key, taken.by)}.` };
  if (foreign.some(isThis)) return { reason: 'SecretNotOurs', message: `${foreignText(key)}.` };
  if (missing.some(isThis)) {
    const why = lastError?.includes(`Secret ${key} `) ? `: ${lastError.replace(/\.+$/, '')}` : '';
    return { reason: 'SecretNotWritten', message: `Secret ${key} lacks the certificate${why}.` };
  }
  return facts?.targets.some(isThis)
    ? null
    : {
        reason: 'SecretNotWritten',
        message: `A certificate is written into at most ${targetsMax} Secrets; Secret ${key} is one too many.`,
      };
}

/** @param key `<ns>/<name>` @param by the other host */
export const takenText = (key: string, by: string) =>
  `Secret ${key} belongs to ${by} and is left alone (name another, or delete it once nothing asks for ${by})`;

/** What helps where a Secret of somebody else stands in the way. */
export const waysOn = "delete it, name another, or take over cert-manager's with orrery adopt certificates";

/** @param names `<ns>/<name>`, several separated by commas */
export const foreignText = (names: string) =>
  `Secret ${names} exists without the label orrery.dev/domain of this host and is not overwritten (${waysOn})`;
