/** Subjects as permissions name them: what one line in deploy/nats/permissions.conf allows. */

/**
 * Our subjects by cluster and word, the server's by what is asked, and where answers go – inboxes, and `_R_`
 * of services that other accounts import – by the first token.
 */
export function familyOf(subject: string): string {
  const tokens = subject.split('.');
  const kept = keptTokens(tokens[0] ?? '');
  return tokens.length <= kept ? subject : `${tokens.slice(0, kept).join('.')}.>`;
}

function keptTokens(first: string): number {
  if (first.startsWith('_') || first === '$SRV') return 1;
  return first.startsWith('$') ? 4 : 3;
}

/**
 * What is lost where a family is not heard, or not published on, although replicas work all the same; else
 * nothing. Whoever upgrades has the permissions of the release before.
 */
export function smallLossOf(family: string): string | undefined {
  if (family.startsWith('$SRV.')) return 'nats micro does not show this replica; everything else works';
  if (isPulse.test(family))
    return 'a replica is taken for dead after a pause of 0.8 s instead of 1.2 s; everything else works';
  if (isRollCall.test(family)) return 'a replica that dies is missed 0.4 s later; everything else works';
  return undefined;
}

/** The small losses of all these, in one sentence; undefined if one of them is no small loss. */
export function smallLossesOf(families: readonly string[]): string | undefined {
  const losses = families.map(smallLossOf);
  return losses.includes(undefined) ? undefined : [...new Set(losses)].join('; ');
}

/** Where replicas ask whether one of them is gone. */
const isRollCall = /^orrery\.[^.]+\.alive\./;

/** Signs of life between two heartbeats, which say enough by themselves (actors/members/pulses.ts). */
const isPulse = /^orrery\.[^.]+\.pulse\./;

/** Where answers go. */
export const isForAnswers = (family: string) => family.startsWith('_');
