/** The span of one step, and the line in the log that goes with it: both only where somebody wants them. */
import { asError } from '../errors.ts';
import type { ActorId } from '../ids.ts';
import { type Span, traceIdOf } from '../tracing.ts';
import type { Transition } from '../views.ts';
import type { MailboxItem } from './cell.ts';
import type { HostPorts } from './host-parts.ts';

type StepPorts = Pick<HostPorts, 'tracing' | 'log'>;

export function startStepSpan(
  { tracing }: StepPorts,
  id: ActorId,
  { event, trace }: MailboxItem,
): Span | undefined {
  if (tracing === undefined) return undefined;
  const attributes = { 'orrery.actor': id, 'orrery.event': event.type };
  return tracing.start(`step ${id.slice(0, id.indexOf('/'))} ${event.type}`, { parent: trace, attributes });
}

/** Called once the step is saved. */
export function endStepSpan({ log }: StepPorts, span: Span | undefined, transition: Transition): void {
  const { id, rev, fence, from, to, event } = transition;
  span?.set({ 'orrery.revision': rev, 'orrery.fence': fence, 'orrery.from': from ?? '', 'orrery.to': to });
  span?.end();
  if (log.isDebug?.() !== true) return;
  const trace = traceIdOf(span?.context);
  log.debug({ actor: id, revision: rev, event: event.type, from, to, ...(trace ? { trace } : {}) }, 'step');
}

/** The work of a span, which ends with it if it fails. */
export function traced<T>(span: Span | undefined, work: Promise<T>): Promise<T> {
  if (span) work.catch((error) => span.end(asError(error).message));
  return work;
}
