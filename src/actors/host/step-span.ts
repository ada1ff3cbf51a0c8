/** The trace span of one step, and its debug line; each is made only if wanted. */
import { asError } from '../../base/errors.ts';
import type { ActorId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { type Span, type TraceContext, traceIdOf } from '../../base/tracing.ts';
import type { Transition } from '../../base/views.ts';
import type { HostParts } from './host-parts.ts';
import type { Cell, MailboxItem } from './owned.ts';

type StepParts = Pick<HostParts, 'tracing' | 'log'>;

export function startStepSpan(
  { tracing }: StepParts,
  id: ActorId,
  { event, trace }: MailboxItem,
): Span | undefined {
  if (tracing === undefined) return undefined;
  const attributes = { 'orrery.actor': id, 'orrery.event': event.type };
  // A deadline is shown by the name of its delay.
  const what = event.type.replace(/^xstate\.after\.([^.]+)\..*/, 'after $1');
  return tracing.start(`step ${id.slice(0, id.indexOf('/'))} ${what}`, { parent: trace, attributes });
}

/** Called once the step is saved. */
export function endStepSpan(
  { log }: StepParts,
  cell: Cell,
  span: Span | undefined,
  transition: Transition,
): void {
  const { id, rev, fence, from, to, event, at } = transition;
  if (span) cell.trace = { context: span.context, since: sinceWhen(cell, span, at) };
  span?.set({ 'orrery.revision': rev, 'orrery.fence': fence, 'orrery.from': from ?? '', 'orrery.to': to });
  span?.end();
  if (log.isDebug?.() !== true) return;
  const trace = traceIdOf(span?.context);
  log.debug({ actor: id, revision: rev, event: event.type, from, to, ...(trace ? { trace } : {}) }, 'step');
}

function sinceWhen({ trace }: Cell, { context }: Span, at: number): number {
  return trace !== null && traceIdOf(trace.context) === traceIdOf(context) ? trace.since : at;
}

/**
 * A deadline belongs to the trace of the step before it, for a limited time: otherwise the trace of an actor
 * that checks periodically would never end.
 */
export function traceOfTimer({ trace }: Cell, at: number): TraceContext | undefined {
  return trace !== null && at - trace.since <= limits.traceTimersMs ? trace.context : undefined;
}

export function traced<T>(span: Span | undefined, work: Promise<T>): Promise<T> {
  if (span) work.catch((error) => span.end(asError(error).message));
  return work;
}
