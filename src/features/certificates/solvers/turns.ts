/**
 * One operation at a time for each host, so that clearing up after an earlier challenge does not remove the
 * present one's exhibit.
 *
 * Owns the turns of this process; one replica at a time owns a host.
 */
export type Turns = ReturnType<typeof createTurns>;

export function createTurns() {
  const last = new Map<string, Promise<unknown>>();
  return {
    /** Waits for its turn, however the previous operation ends. */
    async take<T>(host: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
      const before = last.get(host) ?? Promise.resolve();
      const own = before.then(() => {
        // An operation that was aborted while waiting must not start.
        signal.throwIfAborted();
        return work();
      });
      const quiet = own.catch(() => {});
      last.set(host, quiet);
      try {
        return await own;
      } finally {
        if (last.get(host) === quiet) last.delete(host);
      }
    },
  };
}
