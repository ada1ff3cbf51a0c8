/**
 * The steps for a time line: of a period, of a kind or one actor, that contain a text.
 *
 * Owns the paging through the history until there is enough to show. Promises: oldest first; an answer reads
 * at most `pagesMax` pages, and says where to continue. Absent: how the history is read.
 */
import type { HistoryPage, HistoryRequest, StoredPort, Transition } from '../../base/views.ts';

export interface EventsRequest extends HistoryRequest {
  /** End of the period, ms since the epoch. */
  readonly until: number;
  /** Anywhere in the step, in any case; empty: all steps. */
  readonly text: string;
  /** The most steps in one answer. */
  readonly limit: number;
}

/** A step is stored a little after it was taken, and the replicas' clocks differ. */
export const overlapMs = 10_000;
/** Of `limits.pageMessages` each: one answer takes about a second at most. */
const pagesMax = 20;

export async function readEvents(
  { history }: Pick<StoredPort, 'history'>,
  { until, text, limit, since = 0, after, ...asked }: EventsRequest,
): Promise<HistoryPage> {
  const steps: Transition[] = [];
  let place: HistoryRequest = after === undefined ? { since: Math.max(0, since - overlapMs) } : { after };
  let next: number | null = null;
  for (let page = 0; page < pagesMax && steps.length < limit; page++) {
    const answer = await history({ ...asked, ...place });
    steps.push(...answer.steps.filter((step) => isWithin(step, since, until) && says(step, text)));
    next = isBeyond(answer, until) ? null : answer.next;
    if (next === null) break;
    place = { after: next };
  }
  return { steps, next };
}

function isWithin({ at }: Transition, since: number, until: number): boolean {
  return at >= since && at <= until;
}

/** Whether later pages can contain nothing of the period. */
export function isBeyond({ steps }: HistoryPage, until: number): boolean {
  return steps.length > 0 && steps.every(({ at }) => at > until + overlapMs);
}

/** Whether the step contains the text, in any case. */
export function says(step: Transition, text: string): boolean {
  return text === '' || JSON.stringify(step).toLowerCase().includes(text.toLowerCase());
}
