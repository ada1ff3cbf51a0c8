/**
 * Effect `acme.authorize`: proves control of the host, as far as the order still asks for it. Outcome order.authorized.
 *
 * Running it again goes on where the authority stands: what is valid is left alone, what was begun is waited for (I5).
 */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import { sleep } from '../../../base/clock.ts';
import { OrreryError } from '../../../base/errors.ts';
import type { AcmeAuthorize } from '../../../machines/domain/domain-effects.ts';
import type { AcmeAccount, AcmeAuthorization, AcmeChallenge } from '../acme/acme-client.ts';
import { type ChallengeParts, type Presented, presentDns, presentHttp } from '../acme/challenge.ts';
import { problemError, readProblem } from '../acme/problem.ts';
import type { AcmeSpec } from '../digests.ts';
import type { AcmeAccounts } from './acme-accounts.ts';
import { acquisitionFailed } from './acquisition-failure.ts';

/** The authority looks from several places, one after the other; asked first after 0.3 s, then ever more slowly. */
const pollFirstMs = 300;
const pollMaxMs = 3_000;

export function authorizeOrder(accounts: AcmeAccounts, parts: ChallengeParts): EffectRunner<AcmeAuthorize> {
  return async ({ host, issuer, attempt, order }, { signal }) => {
    try {
      const { account, spec } = await accounts.of(issuer, signal);
      const { status, error } = await account.order(order.url, signal);
      if (status === 'invalid') throw lost(error);
      if (status === 'pending') {
        for (const authorization of await account.authorizations(order.url, signal)) {
          await prove({ account, spec, parts, host, orderUrl: order.url }, authorization, signal);
        }
      }
      return { type: 'order.authorized', attempt };
    } catch (thrown) {
      signal.throwIfAborted();
      return acquisitionFailed(attempt, thrown);
    }
  };
}

interface Proof {
  readonly account: AcmeAccount;
  readonly spec: AcmeSpec;
  readonly parts: ChallengeParts;
  readonly host: string;
  readonly orderUrl: string;
}

async function prove(proof: Proof, authorization: AcmeAuthorization, signal: AbortSignal): Promise<void> {
  if (authorization.status === 'valid') return;
  if (authorization.status !== 'pending') throw refusal(authorization);
  const type = proof.spec.challenge === 'http01' ? 'http-01' : 'dns-01';
  const challenge = authorization.challenges.find((one) => one.type === type);
  if (challenge === undefined) {
    const facts = { hopeless: true };
    throw new OrreryError('ACME_REFUSED', `the authority offers no ${type} for ${proof.host}`, { facts });
  }
  const presented = await present(proof, challenge, signal);
  try {
    if (challenge.status === 'pending') await proof.account.begin(challenge, signal);
    await waitUntilValid(proof, authorization.url, signal);
  } finally {
    // Who loses the shard leaves it: the next owner may need it.
    if (!signal.aborted) await presented.cleanUp(signal);
  }
}

async function present(
  { account, spec, parts, host }: Proof,
  challenge: AcmeChallenge,
  signal: AbortSignal,
): Promise<Presented> {
  const value = await account.answerOf(challenge);
  if (spec.challenge !== 'http01') {
    return presentDns(parts, { webhook: spec.challenge.dns01.webhook, host, value }, signal);
  }
  return presentHttp(parts, { host, token: challenge.token, keyAuthorization: value }, signal);
}

async function waitUntilValid(
  { account, parts, orderUrl }: Proof,
  url: string,
  signal: AbortSignal,
): Promise<void> {
  for (let pauseMs = pollFirstMs; ; pauseMs = Math.min(pauseMs * 1.5, pollMaxMs)) {
    await sleep(parts.clock, pauseMs, signal);
    const authorization = (await account.authorizations(orderUrl, signal)).find((one) => one.url === url);
    if (authorization?.status === 'valid') return;
    if (authorization?.status !== 'pending') throw authorization ? refusal(authorization) : lost(null);
  }
}

/** Why the authority did not believe it; the order is spent. */
function refusal({ status, challenges }: AcmeAuthorization): OrreryError {
  const problem = challenges.map(({ error }) => readProblem(error)).find((one) => one !== null);
  if (!problem) return lost(null, `the authorization is ${status}`);
  return spent(problemError(problem, `validation failed: ${problem.type} (${problem.detail})`));
}

function lost(error: unknown, text = 'the order is invalid'): OrreryError {
  const problem = readProblem(error);
  if (problem !== null) return spent(problemError(problem, `${text}: ${problem.type} (${problem.detail})`));
  return new OrreryError('ACME_REFUSED', text, { facts: { orderLost: true } });
}

function spent(error: OrreryError): OrreryError {
  return new OrreryError(error.code, error.message, { facts: { ...error.facts, orderLost: true } });
}
