/**
 * The accounts of Issuers and their keys: the only place where account and EAB keys are handled.
 *
 * Owns the opened accounts of this process, one for each version of an Issuer's specification. Promises: the
 * account's key is in the Secret that the Issuer names – created there if it is missing – and nowhere else
 * (I9); an account that the authority no longer knows (it was set up again), or refuses, is opened again with
 * the key in the Secret, whichever step of an order meets that; but not again and again: one that is lost
 * once more makes all hosts wait, and counts against none.
 */
import { createPrivateKey } from 'node:crypto';
import type { Clock } from '../../../base/clock.ts';
import { attempt, hasCode, OrreryError } from '../../../base/errors.ts';
import type { KubeObject, KubePort } from '../../../base/kube-port.ts';
import { type AcmeAccess, type AcmeAccount, openAccount } from '../acme/acme-client.ts';
import type { HttpClient } from '../acme/authority-http.ts';
import { lostOrder } from '../acme/problem.ts';
import { makeKey } from '../acme/x509.ts';
import type { AcmeSpec, IssuerSpec } from '../issuer-spec.ts';
import { secrets } from '../resources.ts';
import { unusableIssuer } from './acquisition-failure.ts';
import { decodedData, encoded, find, readSecret } from './certificate-secrets.ts';

/** An Issuer from the world; null: missing or unusable. */
export type IssuerLookup = (name: string) => KnownIssuer | null;

export interface KnownIssuer {
  readonly uid: string;
  /** Changes with each change of the specification. */
  readonly version: string;
  readonly spec: IssuerSpec;
}

/** With the uid of its Issuer, and the version of its specification. */
export interface OpenedAccount {
  readonly uid: string;
  readonly version: string;
  readonly spec: AcmeSpec;
  readonly account: AcmeAccount;
}

export interface AccountParts {
  readonly kube: KubePort;
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly issuerOf: IssuerLookup;
}

export type OrderStep = 'places an order' | 'continues an order';

interface Opened {
  readonly version: string;
  readonly opening: ReturnType<typeof open>;
  /** Monotonic ms. */
  readonly at: number;
}

/**
 * An account that is opened at the authority's word is not opened again for so long, ms: an authority that
 * forgets what it has just created, or refuses one host in the words for an account, would get one after
 * another.
 */
const reopenPauseMs = 300_000;

/**
 * The directory is read with the account. Where the authority does not answer, one that is older is read
 * again with the next step, ms: what it names may have moved to another host.
 */
const trustedMs = 60_000;

/** The data key of the account's private key, as in other issuers' Secrets. */
const accountKeyName = 'tls.key';

export type AcmeAccounts = ReturnType<typeof createAcmeAccounts>;

export function createAcmeAccounts(parts: AccountParts) {
  const { of, kept, anew, forget, doubt, pauseMs } = openedAccounts(parts);
  return {
    /**
     * The Issuer's specification and its opened account. @throws OrreryError CERTIFICATE_UNUSABLE | ACME_… |
     * KUBE_…
     */
    of,
    /**
     * Runs a step with the account, and again if the authority did not know it as it was opened: it was set
     * up again, has closed the account, knows another key of it, or has new terms, which opening agrees to.
     *
     * @param step what it does: only the account that placed an order can continue it
     */
    async use<T>(
      issuer: string,
      step: OrderStep,
      work: (opened: OpenedAccount) => Promise<T>,
      signal: AbortSignal,
    ): Promise<T> {
      const before = await (step === 'places an order' ? kept(issuer, signal) : of(issuer, signal));
      try {
        return await work(before);
      } catch (thrown) {
        if (!isAboutAccount(thrown, step)) {
          doubt(issuer, thrown);
          throw withAccount(thrown, before.account);
        }
        const now = await anew(issuer, before, signal);
        if (now === null) throw afterReopening(thrown, step, pauseMs(issuer));
        if (step === 'continues an order' && now.account.url !== before.account.url) throw anothers(thrown);
        return work(now).catch((again: unknown) => {
          throw afterReopening(again, step, pauseMs(issuer));
        });
      }
    },
    /** Forgets the account, because what is known of the authority may be out of date. */
    forget,
    /** The same if the authority could not be reached where its directory says that it is. */
    doubt,
  };
}

function openedAccounts(parts: AccountParts) {
  const opened = new Map<string, Opened>();
  const reopenedAt = new Map<string, number>();
  /** How long the account is not opened again at the authority's word, ms; 0 or less: it may be. */
  const pauseMs = (issuer: string) =>
    (reopenedAt.get(issuer) ?? Number.NEGATIVE_INFINITY) + reopenPauseMs - parts.clock.monotonic();
  const of = async (issuer: string, signal: AbortSignal): Promise<OpenedAccount> => {
    const known = parts.issuerOf(issuer);
    const spec = known?.spec.acme;
    if (!known || !spec) throw unusableIssuer(`there is no usable ACME Issuer ${issuer}`);
    const before = opened.get(issuer);
    if (before?.version === known.version) {
      const kept = await before.opening.catch(() => null);
      if (kept !== null) return { uid: known.uid, version: known.version, spec, account: kept.account };
    }
    const opening = open(parts, spec, signal);
    const entry = { version: known.version, opening, at: parts.clock.monotonic() };
    opened.set(issuer, entry);
    opening.catch(() => {
      if (opened.get(issuer) === entry) opened.delete(issuer);
    });
    const { account } = await opening;
    return { uid: known.uid, version: known.version, spec, account };
  };
  return {
    of,
    /**
     * One whose Secret was deleted since is not used for anything new: it may be in wrong hands. Another
     * replica may have made the Secret again.
     */
    async kept(issuer: string, signal: AbortSignal): Promise<OpenedAccount> {
      const before = opened.get(issuer);
      const found = await of(issuer, signal);
      if (before === undefined || opened.get(issuer) !== before) return found;
      const { namespace, name } = found.spec.accountSecret;
      const secret = await find(parts.kube, namespace, name, signal);
      if (secret !== null && secret.metadata.uid === (await before.opening).secret) return found;
      if (opened.get(issuer) === before) opened.delete(issuer);
      return of(issuer, signal);
    },
    /** Opened anew for this one, or for another host; null: that was tried a moment ago. */
    async anew(issuer: string, before: OpenedAccount, signal: AbortSignal): Promise<OpenedAccount | null> {
      const now = await opened.get(issuer)?.opening.catch(() => null);
      if (now?.account === before.account) {
        if (pauseMs(issuer) > 0) return null;
        reopenedAt.set(issuer, parts.clock.monotonic());
        opened.delete(issuer);
      }
      return of(issuer, signal);
    },
    forget: (issuer: string): void => void opened.delete(issuer),
    doubt(issuer: string, thrown: unknown): void {
      const { at = parts.clock.monotonic() } = opened.get(issuer) ?? {};
      const isOld = parts.clock.monotonic() - at >= trustedMs;
      if (isOld && isUnreached(thrown)) opened.delete(issuer);
    },
    pauseMs,
  };
}

/** The account, and the uid of the Secret that has its key. */
async function open(parts: AccountParts, spec: AcmeSpec, signal: AbortSignal) {
  const { secret, accountKey } = await accountKeyOf(parts.kube, spec, signal);
  const access = await accessOf(parts, spec, accountKey, signal);
  const account = await openAccount(access, parts, signal).catch((thrown: unknown) => {
    // This concerns the Issuer, not a host: the authority refuses its key, contact, terms or profile.
    throw hasCode(thrown, 'ACME_REFUSED')
      ? unusableIssuer(`${thrown.message}${advice(spec, thrown)}`)
      : thrown;
  });
  return { account, secret };
}

/** There was no answer, or one of something else that is there now; what is missing alone may be unknown. */
const isUnreached = (thrown: unknown) => hasCode(thrown, 'ACME_UNREACHABLE') && thrown.facts.status !== 404;

const aboutAccounts = ['accountDoesNotExist', 'unauthorized', 'userActionRequired', 'malformed'];

/**
 * A host that is forbidden for the account is refused in the same words as a deactivated account, and a wrong
 * request in the same as the signature of a key that was rolled over. What an order or a proof says of itself
 * has no status.
 */
function isAboutAccount(thrown: unknown, step: OrderStep): thrown is OrreryError {
  if (!hasCode(thrown, 'ACME_REFUSED', 'ACME_UNREACHABLE')) return false;
  const { type, status } = thrown.facts;
  if (status === 404) return step === 'places an order';
  return aboutAccounts.includes(String(type)) && status !== 0;
}

/** Whoever forbids a host by CAA has perhaps allowed it to an account (RFC 8657), and needs its address. */
function withAccount(thrown: unknown, { url }: AcmeAccount): unknown {
  if (!hasCode(thrown, 'ACME_REFUSED') || thrown.facts.type !== 'caa') return thrown;
  const text = `${thrown.message.slice(0, 300)}; a CAA record with accounturi has to name ${url}`;
  return new OrreryError('ACME_REFUSED', text, { cause: thrown, facts: thrown.facts });
}

const anothers = ({ message }: Error) =>
  lostOrder(null, `the account that placed the order is another one now: ${message}`);

/** The account has just been found good: whoever refuses it an order says that it is not the account's. */
function afterReopening(thrown: unknown, step: OrderStep, pauseMs: number): unknown {
  const isAnothers = step === 'continues an order' && hasCode(thrown, 'ACME_REFUSED');
  if (isAnothers && thrown.facts.type === 'unauthorized' && thrown.facts.status !== 0)
    return anothers(thrown);
  return lostAgain(thrown, pauseMs);
}

/**
 * An account that was opened again a moment ago and is lost already is no host's fault: everybody waits
 * until it may be opened once more. What else the authority refuses may be about the host.
 */
function lostAgain(thrown: unknown, pauseMs: number): unknown {
  if (!hasCode(thrown, 'ACME_REFUSED') || thrown.facts.type !== 'accountDoesNotExist') return thrown;
  const text = `${thrown.message}; the account was opened again less than 5 min ago, so all hosts wait until it is once more`;
  return new OrreryError('ACME_LIMITED', text, {
    cause: thrown,
    facts: { ...thrown.facts, scope: 'account', retryAfterMs: Math.max(0, pauseMs) },
  });
}

async function accessOf(
  parts: AccountParts,
  spec: AcmeSpec,
  accountKey: string,
  signal: AbortSignal,
): Promise<AcmeAccess> {
  const { server, email, caBundle, eab, profile } = spec;
  if (eab === null) return { server, email, caBundle, eab: null, profile, accountKey };
  const { namespace, name, key } = eab.secretRef;
  const hmac = (await readSecret(parts.kube, { namespace, name }, signal))?.[key]?.trim();
  if (!hmac)
    throw unusableIssuer(`the Secret ${namespace}/${name} with the key ${key} (acme.eab) does not exist`);
  return { server, email, caBundle, eab: { keyId: eab.keyId, hmac }, profile, accountKey };
}

/** What helps, by what the authority says. */
function advice({ accountSecret: { namespace, name }, eab }: AcmeSpec, { facts }: OrreryError): string {
  if (facts.binding === true && eab !== null) {
    const { keyId, secretRef } = eab;
    return `; it does not take the binding in spec.acme.eab: is the key of ${keyId} in the Secret ${secretRef.namespace}/${secretRef.name} (${secretRef.key}), and is the binding neither used up nor over?`;
  }
  switch (facts.type) {
    case 'externalAccountRequired':
      return '; name the binding that you got from it in spec.acme.eab';
    case 'unauthorized':
      return `; if the account was deactivated, delete the Secret ${namespace}/${name}, and a new one is made`;
    case 'badSignatureAlgorithm':
    case 'badPublicKey':
      return `; put a key of another sort into the Secret ${namespace}/${name} (${accountKeyName}), such as RSA with 2048 bits`;
    case 'invalidContact':
    case 'unsupportedContact':
      return '; the address is spec.acme.email';
    default:
      return '';
  }
}

interface AccountKey {
  readonly accountKey: string;
  /** uid of the Secret that has it. */
  readonly secret: string | undefined;
}

/**
 * The key in the Issuer's Secret; a new one if there is no Secret. If two replicas create one, the first
 * wins.
 */
async function accountKeyOf(
  kube: KubePort,
  { accountSecret }: AcmeSpec,
  signal: AbortSignal,
): Promise<AccountKey> {
  const { namespace, name } = accountSecret;
  const keyIn = (found: KubeObject | null): AccountKey => ({
    accountKey: checkedKey(
      found === null ? '' : (decodedData(found)[accountKeyName] ?? ''),
      `${namespace}/${name}`,
    ),
    secret: found?.metadata.uid,
  });
  const stored = await find(kube, namespace, name, signal);
  if (stored !== null) return keyIn(stored);
  const accountKey = await makeKey();
  try {
    const data = { [accountKeyName]: encoded(accountKey) };
    const wanted = { metadata: { name, namespace }, type: 'Opaque', data };
    const made = await kube.create(secrets, wanted, signal);
    return { accountKey, secret: made.metadata.uid };
  } catch (thrown) {
    if (!hasCode(thrown, 'KUBE_CONFLICT')) throw thrown;
    return keyIn(await find(kube, namespace, name, signal));
  }
}

/** What the ACME library can sign with (RFC 8555 6.2). */
const curves = ['prime256v1', 'secp384r1', 'secp521r1'];

function checkedKey(pem: string, place: string): string {
  const key = attempt(() => createPrivateKey(pem), null);
  // The parser's message may quote what it could not parse.
  if (key === null) throw unusableIssuer(`the Secret ${place} holds no account key (${accountKeyName})`);
  const { asymmetricKeyType: sort, asymmetricKeyDetails: details } = key;
  if (sort !== 'rsa' && !curves.includes(details?.namedCurve ?? ''))
    throw unusableIssuer(
      `the Secret ${place} holds an account key (${accountKeyName}) that is not RSA, P-256, P-384 or P-521`,
    );
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}
