/** What the panel on top of the overview says, pure: a picture that nobody renews is no good news. */
import type { ReplicaTroubles } from '../../../base/views.ts';
import type { Silence } from '../hearing.ts';

/** `silent`: nothing was wrong when news came last. */
export type Attention = 'reading' | 'silent' | 'well' | 'ill';

/** A connection that is made again at once is no silence. */
const noticedMs = 3_000;

export function attentionOf(seen: {
  /** All actors, shards and letters have been read. */
  readonly isWhole: boolean;
  readonly silence: Silence | null;
  /** How many things need a look. */
  readonly troubles: number;
  /** How many of them replicas say of themselves: known, and often why not everything is. */
  readonly told: number;
}): Attention {
  if (seen.told > 0) return 'ill';
  if (!seen.isWhole) return 'reading';
  if (seen.troubles > 0) return 'ill';
  return (seen.silence?.ms ?? 0) > noticedMs ? 'silent' : 'well';
}

/** Each trouble once, with all replicas that tell it. */
export function sharedTroubles(
  told: readonly ReplicaTroubles[],
): Array<{ readonly text: string; readonly replicas: readonly string[] }> {
  const replicas = new Map<string, string[]>();
  for (const { replica, troubles } of told)
    for (const text of troubles) replicas.set(text, [...(replicas.get(text) ?? []), replica]);
  return [...replicas].map(([text, names]) => ({ text, replicas: names.sort() }));
}
