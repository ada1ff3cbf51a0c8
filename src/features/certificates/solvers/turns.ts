/**
 * One at a time for each host: what is shown for a challenge is not removed by somebody who clears up
 * after
 * an earlier one.
 *
 * Owns the turns of this process; a host is owned by one replica at a time.
 */
export type Turns = ReturnType<typeof createTurns>;

export function createTurns() {
  const last = new Map<string, Promise<unknown>>();
  return {
    /** Waits for its turn, however that of the one before ends. */
    async take<T>(host: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
      const before = last.get(host) ?? Promise.resolve();
      const own = before.then(() => {
        // Who was given up while it waited must not begin any more.
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
