/**
 * The newest steps for a time line: whoever does not know yet when it happened looks at the end first.
 *
 * The feed is read forwards only, so spans are read that lie ever farther back, each longer than the one
 * before, and shorter again where too much happened. Promises: newest first; an answer reads a bounded
 * number of spans, and says where to continue. Absent: how a span is read (event-pages.ts).
 */
import { OrreryError } from '../../base/errors.ts';
import type { StoredPort, Transition } from '../../base/views.ts';
import { type EventsRequest, readEvents } from './event-pages.ts';

export interface NewestPage {
  readonly steps: readonly Transition[];
  /** The time up to which to ask for earlier ones, ms since the epoch; null: there are none. */
  readonly earlier: number | null;
}

const firstSpanMs = 30_000;
/** Shorter ones would be read with ten seconds more at each end all the same. */
const leastSpanMs = 1_000;
/** Each span is four times as long as the one before: seven cover a day. */
const growth = 4;
const spansMax = 12;

/**
 * @param request without `after`: go on with `until`
 * @throws OrreryError USAGE if more happened in the last second of it than can be read for one answer
 */
export async function readNewest(
  stored: Pick<StoredPort, 'history'>,
  { until, since = 0, limit, ...asked }: Omit<EventsRequest, 'after'>,
): Promise<NewestPage> {
  const found: Transition[] = [];
  let end = until;
  let span = firstSpanMs;
  for (let read = 0; read < spansMax && found.length < limit && end >= since; read++) {
    const start = Math.max(since, end - span + 1);
    const { steps, next } = await readEvents(stored, { ...asked, since: start, until: end, limit: Infinity });
    if (next !== null) {
      if (span <= leastSpanMs && found.length === 0) throw tooMany(end);
      // What came after a crowd is told; who goes on from there hears of it.
      if (span <= leastSpanMs) break;
      span = Math.max(leastSpanMs, span / growth ** 2);
      continue;
    }
    found.push(...steps.toReversed());
    end = start - 1;
    span *= growth;
  }
  const last = found[limit - 1];
  if (last === undefined || found.length === limit)
    return { steps: found, earlier: end < since ? null : end };
  // Those of one millisecond are told together: what is earlier begins with another one.
  return { steps: found.filter(({ at }) => at >= last.at), earlier: last.at - 1 };
}

function tooMany(at: number): OrreryError {
  const when = new Date(at).toISOString();
  return new OrreryError('USAGE', `too much happened at ${when} to read it backwards; say from when on`);
}
