/**
 * The wait that failures at an authority have earned: who meets it, and what ends it
 * (docs/features/certificates.md §7.8). Pure.
 *
 * Promises: only a certificate of an authority ends it, an edited Issuer, or a person who may send messages.
 * While a private CA is asked, or somebody has put a certificate of their own into the Secret, it is put
 * aside; the next attempt at an authority takes it up.
 */
import type { Stamp } from '../stamp.ts';
import { type Aside, type Asker, type DomainContext, type DomainInput, newborn } from './domain-context.ts';
import { factsIn, isEdited } from './domain-observation.ts';
import { earnedBy, isAsideOver } from './domain-schedule.ts';

interface Moment {
  readonly context: DomainContext;
  readonly event: DomainInput;
}
type Change = Partial<DomainContext>;

const timeOf = (event: DomainInput) => (event as Stamp).at;

/**
 * An attempt that people ask for, by a wish or an edit, comes no sooner after the last one began, ms: whoever
 * may edit one object could have the authority asked without end. Let's Encrypt refuses a host that fails
 * five times in an hour.
 */
const askedForPauseMs = 900_000;

/** What waits is brought forward as far as that allows; a CA of one's own may be asked at once. */
export function broughtForward({ context, event }: Moment): Change {
  const { hold, nextAttempt, startedAt, facts } = context;
  if (hold === null || nextAttempt === null) return {};
  if (hold === 'failed' && facts?.issuer?.kind === 'ca') return { hold: null, nextAttempt: null };
  const at = timeOf(event);
  // A clock that was ahead may have noted when it began.
  const earliest = Math.max(Math.min(startedAt, at) + askedForPauseMs, at);
  return { nextAttempt: Math.min(nextAttempt, earliest) };
}

/** Of a host that no object asks for, what has to be removed is still useful, and the wait. */
export function forgotten({ context, event }: Moment): Change {
  const { host, attempt, question, leftovers, sweeps, facts } = context;
  const wait = earned({ context, event });
  const { by: formerly = null, ...kept } = wait ?? {};
  return {
    ...newborn({ id: `domain/_/${host}`, namespace: '_', name: host }),
    nextAttempt: timeOf(event),
    ...{ attempt, question, leftovers, sweeps, formerly },
    lastAsker: leftovers.length === 0 ? null : (facts?.sources[0] ?? null),
    ...kept,
  };
}

/** The wait that is to be remembered: of now, or put aside before; null: there is none. */
function earned({ context, event }: Moment): Aside | null {
  const { failures, hold, startedAt, lastError, aside } = context;
  const by = earnedBy(context);
  if (by === null) return aside == null || isAsideOver(aside, timeOf(event)) ? null : aside;
  const nextAttempt = Math.max(context.nextAttempt ?? 0, timeOf(event));
  return { by, failures, hold, startedAt, lastError, nextAttempt };
}

const none = { nextAttempt: null, hold: null, formerly: null } as const;

/**
 * The wait as whoever asks now meets it. An edited Issuer, and a CA, are tried at once; for another Issuer,
 * and for what is hopeless as things were, it is brought forward as for an edited source.
 */
export function waitMet(moment: Moment): Change {
  const { context } = moment;
  const before = earnedBy(context);
  const issuer = factsIn(moment)?.issuer;
  if (before === null) return none;
  if (issuer?.kind === 'ca') return { ...none, failures: 0, aside: earned(moment) };
  return metFrom(before, moment);
}

/** @param isWished whoever asks has wished for a certificate meanwhile */
function metFrom(before: Asker, moment: Moment, isWished = false): Change {
  const { context } = moment;
  const { owner = '', issuer = null } = factsIn(moment) ?? context.facts ?? {};
  const lastError =
    owner === before.owner ? context.lastError : 'the last attempt was made for another namespace';
  if (issuer === null) return { formerly: before, lastError };
  if (isEdited(before, issuer)) return { ...none, lastError };
  const isSooner = isWished || context.hold === 'failed' || issuer.name !== before.issuer;
  return { formerly: null, lastError, ...(isSooner ? broughtForward(moment) : {}) };
}

/** What is stored is good, whoever put it there: nothing waits, and what failed before is kept in mind. */
export function putAside(moment: Moment): Change {
  const { failures } = moment.context;
  const aside = earned(moment);
  // A Secret of somebody else holds up an attempt as well, and is no failure of an authority.
  return failures === 0 && aside !== null && aside !== moment.context.aside ? {} : { aside };
}

/** An authority is to be asked, and what was put aside counts again. */
export function takenUp(moment: Moment): Change {
  const { context, event } = moment;
  const { aside, facts } = context;
  if (aside == null || facts?.issuer?.kind !== 'acme') return {};
  if (isAsideOver(aside, timeOf(event))) return { aside: null };
  const { by, ...wait } = aside;
  const met = metFrom(by, { context: { ...context, ...wait }, event }, context.forced);
  return { ...wait, aside: null, ...met };
}
