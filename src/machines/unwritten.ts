/**
 * A status that cannot be written: since when, and why. An actor that is well shows people with kubectl an
 * old status meanwhile, so it needs a look after a while, in whatever state it is. Pure.
 */
import { kubeTime } from '../base/kube-time.ts';
import type { EffectSettled, Stamp } from './stamp.ts';

export interface Unwritten {
  /** When a report was lost first and last, since the last that was not; ms since the epoch. */
  readonly since: number;
  readonly at: number;
  readonly why: string;
}

/** What an actor remembers; null or absent: its last report was written. */
export interface Reporting {
  readonly unwritten?: Unwritten | null;
}

/** An outage of Kubernetes ends by itself; a policy, or a right that is missing, does not. */
const patienceMs = 300_000;

export const withUnwritten = ({ unwritten }: Reporting, why: string, at: number): Required<Reporting> => ({
  unwritten: { since: Math.min(unwritten?.since ?? at, at), at, why },
});

/** A report was not written; for charts whose reports end with `effect.settled`. */
export function isReportLost(
  { event }: { readonly event: { readonly type: string } },
  effect: string,
): boolean {
  if (event.type !== 'effect.settled') return false;
  const { effect: settled, error } = event as EffectSettled;
  return settled === effect && error !== null;
}

export const lostReport = ({ context, event }: { readonly context: Reporting; readonly event: unknown }) =>
  withUnwritten(context, (event as EffectSettled).error ?? '', (event as Stamp).at);

/** A report was written after others that were not. */
export function isReportBack(
  { context, event }: { readonly context: Reporting; readonly event: { readonly type: string } },
  effect: string,
): boolean {
  if (context.unwritten == null || event.type !== 'effect.settled') return false;
  const { effect: settled, error, overtaken } = event as EffectSettled;
  return settled === effect && error === null && overtaken !== true;
}

/** For `Chart.needsLook`. */
export function isUnwritten(context: unknown): boolean {
  const { unwritten } = context as Reporting;
  return unwritten != null && unwritten.at - unwritten.since >= patienceMs;
}

/**
 * What is told of an actor, and that people with kubectl see something older.
 *
 * @param text with a full stop, which then follows here too, or without
 * @param resource whose status it is: `domains`
 */
export function withUnwrittenText(text: string, { unwritten }: Reporting, resource: string): string {
  if (unwritten == null) return text;
  const sentence = unwrittenText(unwritten, resource);
  return text.endsWith('.') ? `${text} ${sentence}.` : `${text}. ${sentence}`;
}

function unwrittenText({ since, why }: Unwritten, resource: string): string {
  return `Its status could not be written since ${kubeTime(since)}, so kubectl shows an older one, or none: ${why.replace(/\.+$/, '')}${remedyFor(why, resource)}`;
}

function remedyFor(why: string, resource: string): string {
  if (/no such kind/.test(why)) return '; install the definitions of the custom resources';
  return /forbidden|denied/i.test(why)
    ? `; let Orrery patch ${resource}/status, a right that its chart grants, or exempt it from the policy named here`
    : '';
}
