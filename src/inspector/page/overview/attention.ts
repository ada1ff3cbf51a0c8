/** What the panel on top of the overview says, pure: a picture that nobody renews is no good news. */
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
}): Attention {
  if (!seen.isWhole) return 'reading';
  if (seen.troubles > 0) return 'ill';
  return (seen.silence?.ms ?? 0) > noticedMs ? 'silent' : 'well';
}
