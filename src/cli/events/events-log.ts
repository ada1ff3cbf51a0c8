/**
 * The log of transitions for callers without permissions on the streams: past ones from the history, live
 * ones from a feed.
 *
 * Promises: each transition once; transitions during a lost connection are read when it returns. Absent: how
 * it is printed.
 */
import { readStep } from '../../actors/control/stored-pages.ts';
import { stepKey } from '../../actors/step-order.ts';
import type { Clock } from '../../base/clock.ts';
import { OrreryError } from '../../base/errors.ts';
import type { ActorId } from '../../base/ids.ts';
import type { HistoryPage, PageRequest, Transition } from '../../base/views.ts';
import type { Bus } from '../../bus/bus.ts';
import type { Subjects } from '../../bus/subjects.ts';
import { isBeyond, overlapMs } from '../../inspector/events/event-pages.ts';

export interface EventsLog {
  /** The number of transitions so far. */
  told(): number;
  stop(): void;
}

/** Whose steps; absent: everybody's. */
export interface FeedScope {
  readonly id?: ActorId;
  readonly kind?: string;
}

/** Live steps. */
export interface Feed {
  /**
   * Reports every step at least once while connected; steps before `back` have to be read from the history.
   *
   * @returns a function that ends it
   */
  listen(listener: FeedListener): () => void;
}

export interface FeedListener {
  hear(step: Transition): void;
  lost(): void;
  back(): void;
}

export interface EventsLogParts {
  readonly feed: Feed;
  readonly history: (request: PageRequest) => Promise<HistoryPage>;
  /** Start, ms since the epoch. */
  readonly since: number;
  /** End, ms since the epoch; reading stops there. Absent: no end. */
  readonly until?: number;
  /** Whether live steps are included. */
  readonly isLive: boolean;
  readonly clock: Clock;
  readonly onStep: (step: Transition) => void;
}

/** Number of steps remembered to recognize those that arrive both ways. */
const knownMax = 10_000;

/** Resolves when the past steps were reported. @throws OrreryError BUS_UNREACHABLE if nobody answers */
export async function followEvents(parts: EventsLogParts): Promise<EventsLog> {
  const { feed, history, clock, until = Number.POSITIVE_INFINITY } = parts;
  const teller = createTeller(parts.onStep);
  let waiting: Transition[] | null = [];
  const hear = (step: Transition) => (waiting === null ? teller.tell(step) : void waiting.push(step));
  const readPast = async (since: number): Promise<void> => {
    for (let next: number | null | undefined; next !== null; ) {
      const page: HistoryPage = await history(next === undefined ? { since } : { after: next });
      if (page.next === next) throw new OrreryError('BUS_UNREACHABLE', 'the history cannot be read further');
      for (const step of page.steps) teller.tell(step);
      next = isBeyond(page, until) ? null : page.next;
    }
  };
  const goOn = () => {
    for (const step of waiting ?? []) teller.tell(step);
    waiting = null;
  };
  let awaySince = clock.now();
  const stop = parts.isLive
    ? feed.listen({
        hear,
        lost: () => {
          awaySince = clock.now();
        },
        back: () => {
          waiting ??= [];
          // What cannot be read now is skipped; live steps continue.
          void readPast(awaySince - overlapMs).then(goOn, goOn);
        },
      })
    : () => {};
  await readPast(parts.since);
  goOn();
  return { told: teller.told, stop };
}

function createTeller(onStep: (step: Transition) => void) {
  const known = new Set<string>();
  let count = 0;
  return {
    told: () => count,
    tell(step: Transition): void {
      const key = `${step.id}/${stepKey(step)}`;
      if (known.has(key)) return;
      known.add(key);
      const [oldest] = known;
      if (known.size > knownMax && oldest !== undefined) known.delete(oldest);
      count++;
      onStep(step);
    },
  };
}

/** Over NATS, directly from the replicas. */
export function busFeed(
  { bus, subjects }: { readonly bus: Pick<Bus, 'subscribe' | 'onStatus'>; readonly subjects: Subjects },
  { id, kind }: FeedScope,
): Feed {
  const wide = kind === undefined ? subjects.eventAll : subjects.eventsOfKind(kind);
  return {
    listen({ hear, lost, back }) {
      const live = [
        bus.subscribe(id === undefined ? wide : subjects.eventsOf(id), (message) =>
          readStep(message).forEach(hear),
        ),
        bus.onStatus((status) => (status === 'connected' ? back() : lost())),
      ];
      return () => live.forEach((one) => void one.stop());
    },
  };
}
