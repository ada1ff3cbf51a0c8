/**
 * In which order domains have their turn, among those whom budgets and limits allow
 * (docs/features/certificates.md §5.5). Pure.
 *
 * Renewals that are due go first, and of these the ones whose certificate ends within a week; but every
 * fourth permit is for a host without a certificate, if one waits. Among renewals, and among new hosts,
 * namespaces take turns; so a namespace whose certificates all seem to end now delays another's by one turn
 * at a time. Within a namespace the certificate that ends first goes first.
 */
import type { IssuerContext, Waiting } from './issuer-context.ts';
import { isDoubtful } from './issuer-limits.ts';
import { dayMs } from './issuer-periods.ts';

/** People are told at this time before the end, too. */
const pressingMs = 7 * dayMs;
/** Renewals in a row while a new host waits. */
const renewalsMax = 3;
/** Namespaces whose turns are remembered; one that is forgotten was served longest ago, and goes first. */
const turnsMax = 256;
/** More than a namespace can have in work. */
const last = 1_000;

/** An earlier release does not say when the certificate ends. */
const endOf = ({ ends = Number.POSITIVE_INFINITY }: Waiting) => ends;
const isPressing = (one: Waiting, at: number) => one.due && endOf(one) - at < pressingMs;
/** 0: ends soon; 1: due; 2: new. */
const classOf = (one: Waiting, at: number) => (isPressing(one, at) ? 0 : one.due ? 1 : 2);

/** Compares two that wait: negative if the first one's turn comes first; 0: whoever asked first. */
export function byTurn(context: IssuerContext, at: number): (one: Waiting, other: Waiting) => number {
  const inWork = new Map<string, number>();
  for (const { namespace = '' } of Object.values(context.inWork))
    inWork.set(namespace, (inWork.get(namespace) ?? 0) + 1);
  const lastTurns = new Map((context.turns ?? []).map((namespace, n) => [namespace, n + 1]));
  const isNewsTurn = (context.renewals ?? 0) >= renewalsMax;
  const urgency = (one: Waiting) => {
    if (isDoubtful(context, one)) return last;
    if (one.due) return isPressing(one, at) ? -2 : -1;
    return (inWork.get(one.namespace) ?? 0) - (isNewsTurn ? last : 0);
  };
  const rank = (one: Waiting) => urgency(one) * (turnsMax + 1) + (lastTurns.get(one.namespace) ?? 0);
  return (one, other) => rank(one) - rank(other) || byEnd(one, other);
}

/** Negative if the first one's certificate ends first. */
export function byEnd(one: Waiting, other: Waiting): number {
  const [ends, others] = [endOf(one), endOf(other)];
  return ends === others ? 0 : ends < others ? -1 : 1;
}

/** What is remembered of a turn. */
export function noteTurn({ turns = [], renewals = 0 }: IssuerContext, { namespace, due }: Waiting) {
  return {
    turns: [...turns.filter((one) => one !== namespace), namespace].slice(-turnsMax),
    renewals: due ? Math.min(renewals + 1, renewalsMax) : 0,
  };
}

/** How many others have their turn before one of them. */
export function turnsBefore(
  { renewals = 0 }: IssuerContext,
  all: readonly Waiting[],
  one: Waiting,
  at: number,
): number {
  const untilNews = renewalsMax - renewals;
  const n = turnsBeforeOfItsSort(all, one, at);
  const others = all.filter(({ due }) => due !== one.due).length;
  if (!one.due) return n + Math.min(others, untilNews + renewalsMax * n);
  return n + (n < untilNews ? 0 : Math.min(others, Math.floor((n - untilNews) / renewalsMax) + 1));
}

/** Renewals before a renewal, or new hosts before a new one. */
function turnsBeforeOfItsSort(all: readonly Waiting[], one: Waiting, at: number): number {
  const its = classOf(one, at);
  const counts = new Map<string, number>();
  let own = 0;
  let first = 0;
  let isPassed = false;
  for (const other of all) {
    if (other === one) isPassed = true;
    else if (other.due !== one.due) continue;
    else if (classOf(other, at) !== its) first += classOf(other, at) < its ? 1 : 0;
    else if (other.namespace !== one.namespace)
      counts.set(other.namespace, (counts.get(other.namespace) ?? 0) + 1);
    else if ((byEnd(other, one) || (isPassed ? 1 : -1)) < 0) own++;
  }
  let others = 0;
  for (const count of counts.values()) others += Math.min(count, own + 1);
  return first + own + others;
}
