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

/** How `nats micro` finds us. */
export const isDiscovery = (family: string) => family.startsWith('$SRV.');

/** Where answers go. */
export const isForAnswers = (family: string) => family.startsWith('_');
