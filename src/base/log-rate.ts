/**
 * How many lines one sentence may have in the log: a fault that thousands of actors meet is one reason, and must not
 * fill a disk or hide what else is told.
 *
 * Promises: the first lines of a sentence in each span of time are written as they come; of the others the number is,
 * when the span is over. Errors, warnings and news alike; who asks for debug lines wants all of them.
 * A sentence is the same each time (log-port.ts), so there are few.
 */
import type { Clock } from './clock.ts';
import { limits } from './limits.ts';

export interface LogRate {
  /** Whether a line of the sentence may be written now. */
  admits(sentence: string): boolean;
}

interface Span {
  /** Monotonic, ms. */
  readonly until: number;
  written: number;
  /** Lines that were left out. */
  left: number;
}

/** @param tell is called at the end of a span in which lines were left out */
export function createLogRate(clock: Clock, tell: (sentence: string, left: number) => void): LogRate {
  const spans = new Map<string, Span>();
  const begin = (sentence: string, now: number): Span => {
    const span = { until: now + limits.logSpanMs, written: 0, left: 0 };
    // Sentences that somebody made of names are not worth remembering.
    if (spans.size >= limits.logSentences) forgetOver(spans, now);
    if (spans.size < limits.logSentences) spans.set(sentence, span);
    return span;
  };
  const leave = (sentence: string, span: Span, now: number) => {
    span.left++;
    if (span.left > 1) return;
    clock.after(span.until - now, () => {
      if (spans.get(sentence) === span) spans.delete(sentence);
      tell(sentence, span.left);
    });
  };
  return {
    admits(sentence) {
      const now = clock.monotonic();
      const known = spans.get(sentence);
      const span = known !== undefined && known.until > now ? known : begin(sentence, now);
      if (span.written >= limits.logLinesPerSpan) leave(sentence, span, now);
      else span.written++;
      return span.left === 0;
    },
  };
}

function forgetOver(spans: Map<string, Span>, now: number): void {
  for (const [sentence, { until }] of spans) if (until <= now) spans.delete(sentence);
}
