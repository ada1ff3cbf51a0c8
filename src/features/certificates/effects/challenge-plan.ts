/**
 * Effect `challenge.plan`: finds out what to show for the order's challenge. Outcome challenge.planned |
 * acquisition.failed.
 *
 * It creates nothing, because the domain's record has to contain the plan first
 * (docs/features/certificates.md §4.6).
 */
import type { EffectRunner } from '../../../actors/effect-runner.ts';
import { OrreryError } from '../../../base/errors.ts';
import type { ChallengePlan } from '../../../machines/domain/domain-effects.ts';
import type { Exhibit } from '../../../machines/domain/exhibit.ts';
import type { AcmeAuthorization, AcmeChallenge } from '../acme/acme-client.ts';
import type { ChallengeSpec } from '../challenge-spec.ts';
import { type ExhibitParts, planExhibit } from '../solvers/exhibits.ts';
import type { AcmeAccounts, OpenedAccount } from './acme-accounts.ts';
import { acquiring } from './acquisition-failure.ts';

export function planChallenge(accounts: AcmeAccounts, parts: ExhibitParts): EffectRunner<ChallengePlan> {
  return acquiring(async ({ host, issuer, attempt, order }, { signal }) => {
    const plan = async (opened: OpenedAccount): Promise<Exhibit | null> => {
      const { account } = opened;
      const { status } = await account.order(order.url, signal);
      const authorizations = status === 'pending' ? await account.authorizations(order.url, signal) : [];
      const pending = authorizations.find((one) => one.status === 'pending');
      return pending === undefined ? null : exhibitFor(parts, { ...opened, host, issuer }, pending, signal);
    };
    const exhibit = await accounts.use(issuer, 'continues an order', plan, signal);
    return { type: 'challenge.planned', attempt, exhibit };
  });
}

/** What to show for one authorization; null: nothing but the HTTP answer. */
export async function exhibitFor(
  parts: ExhibitParts,
  { account, spec, uid, host, issuer }: OpenedAccount & { readonly host: string; readonly issuer: string },
  authorization: AcmeAuthorization,
  signal: AbortSignal,
): Promise<Exhibit | null> {
  const value = await account.answerOf(challengeIn(authorization, spec.challenge, host));
  return planExhibit(parts, { host, value, spec, issuer: { name: issuer, uid } }, signal);
}

export const isHttp = (challenge: ChallengeSpec) => challenge === 'http01' || 'http01' in challenge;

/**
 * The challenge of the Issuer's type. @throws OrreryError ACME_REFUSED if the authority does not offer it
 */
export function challengeIn(
  { challenges }: AcmeAuthorization,
  spec: ChallengeSpec,
  host: string,
): AcmeChallenge {
  const type = isHttp(spec) ? 'http-01' : 'dns-01';
  const challenge = challenges.find((one) => one.type === type);
  if (challenge !== undefined) return challenge;
  const offered =
    challenges
      .map((one) => one.type)
      .join(', ')
      .slice(0, 200) || 'nothing';
  const text = `the authority offers no ${type} for ${host}, but ${offered} (spec.acme.challenge)`;
  throw new OrreryError('ACME_REFUSED', text, { facts: { hopeless: true } });
}
