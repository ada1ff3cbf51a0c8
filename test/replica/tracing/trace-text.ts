/** One trace as text, for people and for docs/operating.md. */
import { change as changed } from '../../../src/base/words.ts';
import type { ReceivedSpan } from './otlp-receiver.ts';

/** A tree, in the order of starts; times are milliseconds from the start of the trace. */
export function traceText(spans: readonly ReceivedSpan[]): string {
  const sorted = [...spans].sort((a, b) => a.start - b.start);
  const began = sorted[0]?.start ?? 0;
  const known = new Set(sorted.map(({ spanId }) => spanId));
  const childrenOf = (id: string | undefined) =>
    sorted.filter(({ parentSpanId }) =>
      id === undefined ? parentSpanId === undefined || !known.has(parentSpanId) : parentSpanId === id,
    );
  const lines = (span: ReceivedSpan, depth: number): string[] => [
    line(span, depth, began),
    ...childrenOf(span.spanId).flatMap((child) => lines(child, depth + 1)),
  ];
  return childrenOf(undefined)
    .flatMap((root) => lines(root, 0))
    .join('\n');
}

function line({ name, start, end, attributes, replica }: ReceivedSpan, depth: number, began: number): string {
  const time = `${(start - began).toFixed(1).padStart(7)} ms ${`+${(end - start).toFixed(1)}`.padStart(7)}`;
  const { 'orrery.from': from = '', 'orrery.to': to = '' } = attributes;
  const change = to === '' || to === from ? '' : changed({ from: from || null, to });
  const about = [attributes['orrery.actor'] ?? attributes['messaging.destination.name'] ?? '', change];
  return `${time}  ${replica.padEnd(10)} ${'  '.repeat(depth)}${name}  ${about.filter(Boolean).join('  ')}`.trimEnd();
}
