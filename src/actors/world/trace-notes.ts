/**
 * Notes which change of the world an actor is about to be told of, for its trace: written when the change is
 * processed, removed when the actor is told. Bounded: the oldest give way, because actors of others are told
 * elsewhere. An actor without a note starts a new trace.
 */
import { limits } from '../../base/limits.ts';
import type { TraceContext } from '../../base/tracing.ts';

export type TraceNotes = ReturnType<typeof createTraceNotes>;

export function createTraceNotes() {
  const notes = new Map<string, TraceContext>();
  const noteOne = (id: string, context: TraceContext) => {
    notes.delete(id);
    const [oldest] = notes.size < limits.traceNotes ? [] : notes.keys();
    if (oldest !== undefined) notes.delete(oldest);
    notes.set(id, context);
  };
  return {
    note(ids: Iterable<string>, context: TraceContext | undefined): void {
      if (context !== undefined) for (const id of ids) noteOne(id, context);
    },
    take(id: string): TraceContext | undefined {
      const context = notes.get(id);
      if (context !== undefined) notes.delete(id);
      return context;
    },
  };
}
