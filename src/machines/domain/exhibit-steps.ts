/**
 * How a domain remembers what it shows for challenges: noted, finished, left over, removed
 * (docs/features/certificates.md §4.6). Pure.
 */

import { backOffMs } from '../../base/back-off.ts';
import type { DomainContext, DomainInput } from './domain-context.ts';
import { type Exhibit, placeText } from './exhibit.ts';

/** Whether an attempt notes what it shows: a plain HTTP answer expires by itself. */
export const isNoted = ({ facts }: DomainContext) =>
  facts?.issuer?.challenge === 'dns01' || facts?.issuer?.exhibits === true;

/** Left-over objects kept for one domain; beyond that, the oldest are abandoned. */
const leftoversMax = 8;
/** Attempts to remove left-overs: with the pauses below, over five hours. */
export const sweepsMax = 12;

const minuteMs = 60_000;
/** 30 s, doubling to an hour. */
export const sweepPauseMs = ({ sweeps }: DomainContext) => backOffMs(sweeps - 1, minuteMs / 2, 60 * minuteMs);

const textOf = (exhibit: Exhibit) => JSON.stringify(Object.entries(exhibit).sort());

/** Without those in the other list. */
function without(all: readonly Exhibit[], others: readonly Exhibit[]): readonly Exhibit[] {
  const gone = new Set(others.map(textOf));
  return all.filter((one) => !gone.has(textOf(one)));
}

type Change = Partial<DomainContext>;

interface Moment {
  readonly context: DomainContext;
  readonly event: DomainInput;
}

/** What will be shown, before it is created. */
export function planned({ context, event }: Moment): Change {
  if (event.type !== 'challenge.planned') return {};
  const { exhibit } = event;
  const leftovers = exhibit === null ? context.leftovers : without(context.leftovers, [exhibit]);
  return { showing: exhibit, leftovers };
}

/** What is left when the challenge ends: everything, unless the runner says that it is gone. */
export function ended({ context, event }: Moment): Change {
  const { showing, leftovers } = context;
  if (showing === null) return {};
  const isGone =
    (event.type === 'order.authorized' || event.type === 'acquisition.failed') &&
    event.attempt === context.attempt &&
    event.removed === true;
  if (isGone) return { showing: null };
  return {
    showing: null,
    sweeps: 0,
    leftovers: [...without(leftovers, [showing]), showing].slice(-leftoversMax),
  };
}

/** What is left after an attempt to remove it. */
export function swept({ context, event }: Moment): Change {
  if (event.type !== 'challenge.cleared') return {};
  const leftovers = without(context.leftovers, event.removed);
  return { leftovers, sweeps: leftovers.length === 0 ? 0 : context.sweeps + 1 };
}

/** Whether nothing is left after this event. */
export const isSwept = (moment: Moment) => (swept(moment).leftovers ?? []).length === 0;
/** Whether the number of attempts is used up. */
export const isGivenUp = (moment: Moment) => (swept(moment).sweeps ?? 0) >= sweepsMax;

/** Who removes what the domain does not: docs/features/certificates.md §4.6. */
export function removersText({ leftovers }: DomainContext): string {
  const isRoute = ({ kind }: Exhibit) => kind === 'ingress' || kind === 'gateway';
  const texts = [
    ...(leftovers.every(isRoute) ? [] : ['Nobody else removes a TXT record: remove it yourself.']),
    ...(leftovers.some(isRoute)
      ? ['Orrery removes a route once it has expired, if it may; it goes with its Issuer, too.']
      : []),
  ];
  return texts.join(' ');
}

/** What of a domain still has to be removed; empty: nothing. */
export function leftoversText({ leftovers }: DomainContext): string {
  return leftovers.map(placeText).join(', ');
}
