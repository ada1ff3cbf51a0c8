/**
 * Effect `acme.authorize`: proves control of the host, as far as the order still requires. Outcome
 * order.authorized.
 *
 * Run again, it continues from the authority's state: valid authorizations are left alone, pending ones are
 * awaited (I5).
 */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import { sleep } from '../../../base/clock.ts';
import { hasCode, type OrreryError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import type { AcmeAuthorize } from '../../../machines/domain/domain-effects.ts';
import type { Exhibit } from '../../../machines/domain/exhibit.ts';
import type { AcmeAuthorization, AcmeChallenge } from '../acme/acme-client.ts';
import { type ChallengeParts, type Presented, presentHttp } from '../acme/challenge.ts';
import { lostOrder, readProblem } from '../acme/problem.ts';
import { changeExhibit, type ExhibitParts } from '../solvers/exhibits.ts';
import type { Turns } from '../solvers/turns.ts';
import type { AcmeAccounts, OpenedAccount } from './acme-accounts.ts';
import { acquisitionFailed, isUnanswered } from './acquisition-failure.ts';
import { challengeIn, exhibitFor, isHttp } from './challenge-plan.ts';

/**
 * The authority looks from several places, one after another; polled first after 0.3 s, then less and less
 * often.
 */
const pollFirstMs = 300;
const pollMaxMs = 3_000;
/** A proof that takes longer, ms, is asked for when the authority says. */
const promptMs = 30_000;
const invalidOrder = 'the order is invalid';
/**
 * An authority that answers and does not decide in this time, ms after the start, refuses this host; beyond
 * the bound of the effect it would seem to be away, and every other host would wait. Some leave a failed
 * proof pending forever.
 */
const decisionMs = 180_000;
/** What is left is removed until shortly before the bound of the effect; the chart does the rest, ms. */
const removalMs = limits.acmeAuthorizeMs - 5_000;

interface AuthorizeParts extends ChallengeParts, ExhibitParts {
  readonly turns: Turns;
}

export function authorizeOrder(accounts: AcmeAccounts, parts: AuthorizeParts): EffectRunner<AcmeAuthorize> {
  return ({ host, issuer, attempt, order, exhibit = null }, { key, signal }) => {
    const startedAt = parts.clock.monotonic();
    const bounds = { decideBy: startedAt + decisionMs, removeBy: startedAt + removalMs };
    return parts.turns.take(host, signal, async () => {
      const run = { parts, host, issuer, orderUrl: order.url, exhibit, key, ...bounds };
      const prove = (opened: OpenedAccount) => attempted({ ...run, ...opened }, signal);
      const failure = await accounts.use(issuer, 'continues an order', prove, signal).then(
        () => null,
        (thrown: unknown) => {
          signal.throwIfAborted();
          return acquisitionFailed(attempt, thrown);
        },
      );
      const ended = { removed: exhibit === null || (await isRemoved(run, exhibit, signal)) };
      return failure === null ? { type: 'order.authorized', attempt, ...ended } : { ...failure, ...ended };
    });
  };
}

/** What every authorization of the order needs. */
interface Run {
  readonly parts: AuthorizeParts;
  readonly host: string;
  readonly issuer: string;
  readonly orderUrl: string;
  /** Noted in the record; null: nothing. */
  readonly exhibit: Exhibit | null;
  readonly key: string;
  /** By the monotonic clock, like `removeBy`. */
  readonly decideBy: number;
  readonly removeBy: number;
}

type Proof = Run & OpenedAccount;

async function attempted(proof: Proof, signal: AbortSignal): Promise<void> {
  const { account, orderUrl } = proof;
  const { status, error } = await account.order(orderUrl, signal);
  if (status === 'invalid') throw lostOrder(error, invalidOrder);
  if (status !== 'pending') return;
  for (const authorization of await account.authorizations(orderUrl, signal))
    await prove(proof, authorization, signal);
}

/**
 * Removes what was noted, whether or not it was created; on failure the chart retries. A slow removal is cut
 * off, because an effect that takes too long would be taken for an outage of the authority.
 */
async function isRemoved(
  { parts, key, removeBy }: Run,
  exhibit: Exhibit,
  signal: AbortSignal,
): Promise<boolean> {
  const late = new AbortController();
  const left = removeBy - parts.clock.monotonic();
  const timer = parts.clock.after(left, () => late.abort(new Error('the removal takes too long')));
  try {
    await changeExhibit('removed', parts, exhibit, `${key}/end`, AbortSignal.any([signal, late.signal]));
    return true;
  } catch {
    signal.throwIfAborted();
    return false;
  } finally {
    timer.cancel();
  }
}

async function prove(proof: Proof, authorization: AcmeAuthorization, signal: AbortSignal): Promise<void> {
  if (authorization.status === 'valid') return;
  if (authorization.status !== 'pending') throw refusal(authorization);
  const challenge = challengeIn(authorization, proof.spec.challenge, proof.host);
  // A record of a release that noted nothing: plan it here.
  const exhibit = proof.exhibit ?? (await exhibitFor(proof.parts, proof, authorization, signal));
  const presented = await present({ ...proof, exhibit }, challenge, signal);
  try {
    if (challenge.status === 'pending') await begin(proof, authorization.url, challenge, signal);
    await waitUntilValid(proof, authorization.url, challenge, signal);
  } finally {
    // A replica that loses the shard leaves it in place, because the next owner may need it.
    if (!signal.aborted) await presented.cleanUp(signal);
    if (!signal.aborted && exhibit !== null && proof.exhibit === null)
      await isRemoved(proof, exhibit, signal).catch(() => false);
  }
}

/**
 * A run before this one may have begun, and the authority judged its proof meanwhile: that counts. One that
 * looks before it answers may be at it; one that shows no sign of that may not have heard, and is told once
 * more.
 */
async function begin(
  proof: Proof,
  url: string,
  challenge: AcmeChallenge,
  signal: AbortSignal,
): Promise<void> {
  const { account, orderUrl } = proof;
  for (const isLast of [false, true]) {
    const thrown = await account.begin(challenge, signal).then(
      () => null,
      (reason: unknown) => reason,
    );
    if (thrown === null) return;
    const isLate = isUnanswered(thrown);
    if (!isLate && !hasCode(thrown, 'ACME_REFUSED')) throw thrown;
    const now = (await account.authorizations(orderUrl, signal)).find((one) => one.url === url);
    const same = now?.challenges.find((one) => one.url === challenge.url);
    const isUnheard = now?.status === 'pending' && same?.status === 'pending';
    if (!isLate && isUnheard) throw thrown;
    if (!isUnheard || isLast) return;
  }
}

async function present(
  { account, spec, parts, host, exhibit, key }: Proof,
  challenge: AcmeChallenge,
  signal: AbortSignal,
): Promise<Presented> {
  const value = await account.answerOf(challenge);
  if (exhibit !== null && 'value' in exhibit && exhibit.value !== value)
    throw lostOrder(null, 'the authority has changed what it asks for');
  if (exhibit !== null) await changeExhibit('made', parts, exhibit, `${key}/begin`, signal);
  if (!isHttp(spec.challenge)) return { cleanUp: async () => {} };
  const { token } = challenge;
  return presentHttp(parts, { host, token, keyAuthorization: value, isRouted: exhibit !== null }, signal);
}

async function waitUntilValid(
  { account, parts, orderUrl, decideBy }: Proof,
  url: string,
  challenge: AcmeChallenge,
  signal: AbortSignal,
): Promise<void> {
  const promptUntil = parts.clock.monotonic() + promptMs;
  let retryAfterMs = 0;
  for (let pauseMs = pollFirstMs; ; pauseMs = Math.min(pauseMs * 1.5, pollMaxMs)) {
    const now = parts.clock.monotonic();
    const askedMs = now < promptUntil ? 0 : Math.min(retryAfterMs, decideBy - now);
    await sleep(parts.clock, Math.max(pauseMs, askedMs), signal);
    const authorization = (await account.authorizations(orderUrl, signal)).find((one) => one.url === url);
    if (authorization?.status === 'valid') return;
    if (authorization?.status !== 'pending')
      throw authorization ? refusal(authorization) : lostOrder(null, invalidOrder);
    const at = parts.clock.monotonic();
    if (at >= decideBy || isGivenUp(authorization, challenge, at >= promptUntil))
      throw refusal(authorization);
    retryAfterMs = authorization.retryAfterMs ?? 0;
  }
}

/**
 * Whether the authority looks no more, though it keeps the authorization pending: nobody else shall wait
 * for that. While it tries again a proof is `processing`; one that is pending with an error waits for us (RFC
 * 8555 8.2), and the next attempt is as good.
 */
function isGivenUp({ challenges }: AcmeAuthorization, { url }: AcmeChallenge, isLate: boolean): boolean {
  const now = challenges.find((one) => one.url === url);
  return (
    now?.status === 'invalid' || (isLate && now?.status === 'pending' && readProblem(now.error) !== null)
  );
}

const undecided = `the authority has not validated the proof in ${decisionMs / 1_000} s`;

/** Why the authority rejected the proof; the order is used up. */
function refusal({ status, challenges }: AcmeAuthorization): OrreryError {
  const failed = challenges.find(({ error }) => readProblem(error) !== null);
  return failed === undefined
    ? lostOrder(null, status === 'pending' ? undecided : `the authorization is ${status}`)
    : lostOrder(failed.error, 'validation failed');
}
