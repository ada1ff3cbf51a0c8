/**
 * Notes which change of the world an actor is about to be told of, for its trace: written when the change is
 * processed, removed when the actor is told. Bounded; an actor without a note starts a new trace.
 */
import { limits } from '../../base/limits.ts';
import type { TraceContext } from '../../base/tracing.ts';

export type TraceNotes = ReturnType<typeof createTraceNotes>;

export function createTraceNotes() {
  const notes = new Map<string, TraceContext>();
  return {
    note(ids: Iterable<string>, context: TraceContext | undefined): void {
      if (context === undefined) return;
      for (const id of ids) if (notes.has(id) || notes.size < limits.traceNotes) notes.set(id, context);
    },
    take(id: string): TraceContext | undefined {
      const context = notes.get(id);
      if (context !== undefined) notes.delete(id);
      return context;
    },
  };
}
