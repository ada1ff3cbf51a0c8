/**
 * One account at one ACME authority (RFC 8555): the only file that knows the ACME library.
 *
 * The library signs, manages nonces and knows the resources. The HTTP is ours (authority-http.ts), installed
 * as the library's adapter: every call has a signal, a bound and the Issuer's own roots of trust, refusals
 * keep their type and Retry-After, and only a bad nonce is retried. Absent: policy – who orders when, and
 * what a failure means – and renewal information (ari.ts).
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Authorization, Client, Order } from 'acme-client';
import type { Clock } from '../../../base/clock.ts';
import { asError, attempt, hasCode, OrreryError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { loadedOnce } from '../../../base/program/loaded-once.ts';
import { requireForm, type Wanted } from './answer-form.ts';
import type { HttpAnswer, HttpClient } from './authority-http.ts';
import { placeOf } from './authority-http.ts';
import { answerError, readProblem, readRetryAfter } from './problem.ts';

export interface AcmeAccess {
  readonly server: string;
  readonly email: string | null;
  readonly caBundle: string | null;
  /** External account binding; the key is secret. */
  readonly eab: { readonly keyId: string; readonly hmac: string } | null;
  /** The profile that orders will name; null: none. */
  readonly profile: string | null;
  /** PEM; secret. */
  readonly accountKey: string;
}

export interface AcmeOrder {
  readonly url: string;
  readonly status: string;
  /** RFC 3339; absent in some answers. */
  readonly expires: string | undefined;
  readonly certificate: string | undefined;
  readonly error: unknown;
  /** When the authority would like to be asked again, ms from the answer; null: it does not say. */
  readonly retryAfterMs: number | null;
}

export interface AcmeChallenge {
  readonly type: string;
  readonly url: string;
  readonly status: string;
  readonly token: string;
  readonly error: unknown;
}

export interface AcmeAuthorization {
  readonly url: string;
  readonly status: string;
  readonly challenges: readonly AcmeChallenge[];
  /** As in AcmeOrder. */
  readonly retryAfterMs?: number | null;
}

export interface AcmeAccount {
  /** Identifies it at the authority, whatever its key. */
  readonly url: string;
  /** `renewalInfo` in the directory; null: the authority has none. */
  readonly renewalInfo: string | null;
  newOrder(
    host: string,
    wish: { readonly profile: string | null; readonly replaces: string | null },
    signal: AbortSignal,
  ): Promise<AcmeOrder>;
  order(url: string, signal: AbortSignal): Promise<AcmeOrder>;
  authorizations(orderUrl: string, signal: AbortSignal): Promise<readonly AcmeAuthorization[]>;
  /** What to show for a challenge: for http-01 the key authorization, for dns-01 its digest. */
  answerOf(challenge: AcmeChallenge): Promise<string>;
  /** Tells the authority to validate the challenge. */
  begin(challenge: AcmeChallenge, signal: AbortSignal): Promise<void>;
  finalize(orderUrl: string, csrPem: string, signal: AbortSignal): Promise<AcmeOrder>;
  /** The chain in PEM. @param timeoutMs for each answer; absent: as for one that takes work */
  certificate(order: AcmeOrder, signal: AbortSignal, timeoutMs?: number): Promise<string>;
}

/** What the adapter needs to know about the library's current call. */
interface Call {
  readonly caBundle: string | null;
  readonly signal: AbortSignal;
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly nonces: string[];
  /** How many of ours were refused. */
  badNonces: number;
  readonly wanted: Wanted;
  /** Where an answer has to name what was created: without an address the library asks for it forever. */
  readonly creates: string | null;
  /** ms for each answer; absent: the usual bound. */
  readonly timeoutMs?: number;
  last: { readonly place: string; readonly answer: HttpAnswer } | null;
}

type Form = Pick<Call, 'wanted' | 'creates' | 'timeoutMs'>;
type Run = <T>(signal: AbortSignal, work: () => Promise<T>, form?: Form) => Promise<T>;

const calls = new AsyncLocalStorage<Call>();
/** Each answer brings one; more than the calls in flight are useless. */
const noncesMax = 16;
/** Of an authority that refuses every other nonce, one call in two thousand fails. */
const nonceRetriesMax = 10;

/**
 * Opens the account that belongs to the key; creates it if there is none.
 *
 * @throws OrreryError ACME_REFUSED also if the authority does not offer the profile; with the fact `binding`
 *   if it does not take the binding to an external account
 */
export async function openAccount(
  access: AcmeAccess,
  parts: { readonly http: HttpClient; readonly clock: Clock },
  signal: AbortSignal,
): Promise<AcmeAccount> {
  const { Client: LibraryClient } = await library();
  const nonces: string[] = [];
  const client = new LibraryClient({
    directoryUrl: access.server,
    accountKey: access.accountKey,
    ...(access.eab === null
      ? {}
      : { externalAccountBinding: { kid: access.eab.keyId, hmacKey: access.eab.hmac } }),
  });
  (client as unknown as { http: { maxBadNonceRetries: number } }).http.maxBadNonceRetries = nonceRetriesMax;
  const run: Run = (callSignal, work, form = { wanted: 'JSON', creates: null }) => {
    const call: Call = {
      ...parts,
      ...form,
      caBundle: access.caBundle,
      signal: callSignal,
      nonces,
      badNonces: 0,
      last: null,
    };
    return calls.run(call, () =>
      work().catch((thrown) => {
        callSignal.throwIfAborted();
        throw thrown instanceof OrreryError ? thrown : unusable(call, asError(thrown).message, thrown);
      }),
    );
  };
  const { newAccount, renewalInfo, meta } = await run(signal, () => directoryOf(client));
  requireProfile(access, meta);
  const form: Form = { wanted: 'any', creates: String(newAccount) };
  requireValid(access, await run(signal, () => foundOrMade(client, access), form));
  return accountOf(client, run, typeof renewalInfo === 'string' ? renewalInfo : null);
}

/** A binding may be used up by the account that it made, so an existing account is opened without it. */
async function foundOrMade(client: Client, { email, eab }: AcmeAccess): Promise<unknown> {
  const wish = {
    termsOfServiceAgreed: true,
    // Templates write an empty address where there is none.
    ...(email === null || email === '' ? {} : { contact: [`mailto:${email}`] }),
  };
  const open = (given: typeof wish & { readonly onlyReturnExisting?: true }) =>
    client.createAccount(given).catch((thrown: unknown) => {
      // The library updates an account that exists, which some authorities refuse where there is nothing new
      // to them (Pebble, without an address): then it is looked at instead.
      if (!hasCode(thrown, 'ACME_REFUSED') || !isKnown(client) || isAboutContact(thrown)) throw thrown;
      return client.updateAccount({});
    });
  if (eab === null) return open(wish);
  return open({ ...wish, onlyReturnExisting: true }).catch((thrown: unknown) => {
    if (!hasCode(thrown, 'ACME_REFUSED')) throw thrown;
    const isNew = thrown.facts.type === 'accountDoesNotExist';
    return open(wish).catch((again: unknown) => {
      throw isNew && isAboutBinding(again) ? ofBinding(again) : again;
    });
  });
}

/** Authorities refuse a binding in several ways; what else a new account may lack has words of its own. */
const isAboutBinding = (thrown: unknown): thrown is OrreryError =>
  hasCode(thrown, 'ACME_REFUSED') &&
  ['externalAccountRequired', 'unauthorized', 'malformed'].includes(String(thrown.facts.type));

const ofBinding = ({ code, message, facts }: OrreryError) =>
  new OrreryError(code, message, { facts: { ...facts, binding: true } });

const isAboutContact = ({ facts }: OrreryError) =>
  ['invalidContact', 'unsupportedContact'].includes(String(facts.type));

/** The authority has said where the account is. */
const isKnown = (client: Client): boolean => attempt(() => client.getAccountUrl() !== '', false);

/** Most authorities refuse to open an account that is not valid; some show it as it is. */
function requireValid({ server }: AcmeAccess, account: unknown): void {
  const { status } = (account ?? {}) as { status?: unknown };
  if (status !== 'deactivated' && status !== 'revoked') return;
  const text = `${placeOf(server)} says that the account is ${status}`;
  throw new OrreryError('ACME_REFUSED', text, { facts: { type: 'unauthorized' } });
}

/** An authority that lists no profiles decides when it gets an order. */
function requireProfile({ server, profile }: AcmeAccess, meta: unknown): void {
  const { profiles } = (meta ?? {}) as { profiles?: unknown };
  if (profile === null || typeof profiles !== 'object' || profiles === null || Array.isArray(profiles))
    return;
  if (Object.hasOwn(profiles, profile)) return;
  const offered = Object.keys(profiles).join(', ').slice(0, 200) || 'none';
  throw new OrreryError(
    'ACME_REFUSED',
    `${placeOf(server)} offers no profile ${profile} (spec.acme.profile); it offers ${offered}`,
  );
}

function accountOf(client: Client, run: Run, renewalInfo: string | null): AcmeAccount {
  const orderAt = (url: string) => client.getOrder({ url } as Order);
  return {
    url: client.getAccountUrl(),
    renewalInfo,
    newOrder: (host, { profile, replaces }, signal) =>
      run(
        signal,
        async () => {
          const wish = {
            identifiers: [{ type: 'dns', value: host }],
            ...(profile === null ? {} : { profile }),
            ...(replaces === null ? {} : { replaces }),
          };
          return orderOf(await client.createOrder(wish));
        },
        work,
      ),
    order: (url, signal) => run(signal, async () => orderOf(await orderAt(url))),
    authorizations: (url, signal) =>
      run(signal, async () => (await client.getAuthorizations(await orderAt(url))).map(authorizationOf)),
    answerOf: (challenge) => client.getChallengeKeyAuthorization(challenge as never),
    begin: (challenge, signal) =>
      run(signal, async () => void (await client.completeChallenge(challenge as never)), unread),
    finalize: (url, csrPem, signal) =>
      run(signal, async () => orderOf(await client.finalizeOrder(await orderAt(url), csrPem)), work),
    certificate: ({ url, certificate }, signal, timeoutMs = limits.acmeWorkMs) =>
      run(signal, () => client.getCertificate({ url, status: 'valid', certificate } as Order), {
        ...chain,
        timeoutMs,
      }),
  };
}

const work: Form = { wanted: 'JSON', creates: null, timeoutMs: limits.acmeWorkMs };
/** Some look before they answer. */
const unread: Form = { wanted: 'any', creates: null, timeoutMs: limits.acmeWorkMs };
const chain: Form = { wanted: 'a certificate', creates: null };

function orderOf(order: Order): AcmeOrder {
  const { url, status, expires, certificate } = order;
  if (typeof status !== 'string') throw new Error('an order without a status');
  const { error } = order as { error?: unknown };
  return { url, status, expires, certificate, error, retryAfterMs: retryAfterIn(calls.getStore()) };
}

const retryAfterIn = (call: Call | undefined) =>
  call?.last ? readRetryAfter(call.last.answer.headers, call.clock.now()) : null;

function authorizationOf({ url, status, challenges }: Authorization): AcmeAuthorization {
  if (typeof status !== 'string' || !Array.isArray(challenges))
    throw new Error('an authorization without a status or challenges');
  if (!challenges.every(isChallenge)) throw new Error('a challenge without a type, address or proper token');
  const retryAfterMs = retryAfterIn(calls.getStore());
  return { url, status, challenges: challenges as unknown as readonly AcmeChallenge[], retryAfterMs };
}

/** Types that we do not know may have no token. */
function isChallenge(value: unknown): boolean {
  const { type, url, token } = (value ?? {}) as Record<string, unknown>;
  if (typeof type !== 'string' || typeof url !== 'string') return false;
  if (type !== 'http-01' && type !== 'dns-01') return true;
  return typeof token === 'string' && /^[\w-]+$/.test(token);
}

/** The library keeps the directory, but exposes only its older entries. */
async function directoryOf(client: Client): Promise<Record<string, unknown>> {
  const { http } = client as unknown as { http: { getDirectory(): Promise<Record<string, unknown>> } };
  const directory = await http.getDirectory();
  const missing = ['newNonce', 'newAccount', 'newOrder'].filter((name) => !isAddress(directory[name]));
  if (missing.length > 0) throw new Error(`a directory without a proper ${missing.join(', ')}`);
  return directory;
}

const isAddress = (value: unknown) =>
  typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value);

/**
 * The library, with our HTTP installed once. Imported for the first account, because most processes never
 * need it.
 */
const library = loadedOnce('the ACME library', async () => {
  const acme = await import('acme-client');
  acme.axios.defaults.adapter = adapter as never;
  return acme;
});

interface LibraryRequest {
  readonly url: string;
  readonly method: string;
  readonly data?: unknown;
}

/** Replaces the library's HTTP. Our errors have no `config`, so the library passes them on. */
async function adapter(config: LibraryRequest) {
  const call = calls.getStore();
  if (!call) throw new OrreryError('INVARIANT', 'the ACME library calls only on our behalf');
  const method = config.method.toUpperCase() as 'GET' | 'HEAD' | 'POST';
  const nonce = method === 'HEAD' ? call.nonces.pop() : undefined;
  if (nonce !== undefined)
    return libraryAnswer({ status: 200, headers: { 'replay-nonce': nonce }, body: '' }, config);
  const given = await call.http(
    {
      method,
      url: config.url,
      headers: { 'Content-Type': 'application/jose+json' },
      ...(config.data === undefined ? {} : { body: String(config.data) }),
      caBundle: call.caBundle,
      ...(call.timeoutMs === undefined ? {} : { timeoutMs: call.timeoutMs }),
    },
    call.signal,
  );
  const answer = withWholeLocation(given, config.url);
  keepNonce(call, method, answer);
  const place = placeOf(config.url);
  call.last = { place, answer };
  if (isBadNonce(answer)) call.badNonces += 1;
  // Whoever asks for the directory, a nonce or the account asks for no host yet: a limit is everybody's.
  const scope = method !== 'POST' || config.url === call.creates ? 'account' : undefined;
  if (answer.status >= 400 && !isBadNonce(answer)) throw answerError(answer, place, call.clock.now(), scope);
  if (answer.status < 400 && method !== 'HEAD') requireForm(answer, place, call.wanted, method === 'GET');
  if (config.url === call.creates && answer.status < 300 && answer.headers.location === undefined)
    throw unusable(call, 'it does not say where the account is (Location)');
  return libraryAnswer(answer, config);
}

/** `Location` may be relative to what was asked for (RFC 9110 10.2.2). */
function withWholeLocation(answer: HttpAnswer, url: string): HttpAnswer {
  const { location } = answer.headers;
  if (location === undefined || URL.canParse(location) || !URL.canParse(location, url)) return answer;
  return { ...answer, headers: { ...answer.headers, location: new URL(location, url).href } };
}

/** The library itself reads the nonces of HEAD answers and of bad-nonce refusals. */
function keepNonce({ nonces }: Call, method: string, answer: HttpAnswer): void {
  const nonce = answer.headers['replay-nonce'];
  if (typeof nonce !== 'string' || method === 'HEAD' || isBadNonce(answer)) return;
  nonces.push(nonce);
  if (nonces.length > noncesMax) nonces.shift();
}

function isBadNonce({ status, body }: HttpAnswer): boolean {
  if (status !== 400 || !body.includes('badNonce')) return false;
  return attempt(() => readProblem(JSON.parse(body))?.type === 'badNonce', false);
}

function libraryAnswer({ status, headers, body }: HttpAnswer, config: LibraryRequest) {
  return { data: body, status, statusText: '', headers, config, request: {} };
}

/** An answer that the library or we could not interpret, or the last one before the nonces ran out. */
function unusable({ last, badNonces }: Call, why: string, cause?: unknown): OrreryError {
  if (last !== null && isBadNonce(last.answer)) {
    const text = `${last.place} refused ${badNonces} nonces in a row (${why.slice(0, 300)}): are there several servers behind one address, which do not know each other's nonces, or is a cache in between?`;
    return new OrreryError('ACME_UNREACHABLE', text, { cause });
  }
  const said = last === null ? 'the authority' : `${last.place} answered ${last.answer.status}`;
  return new OrreryError('ACME_UNREACHABLE', `${said}, which cannot be used: ${why.slice(0, 300)}`, {
    cause,
  });
}
