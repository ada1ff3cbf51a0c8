/** Lets callers wait until a stream has been read up to a sequence. */
export function createReaching() {
  const waiting = new Set<{ readonly sequence: number; readonly resolve: () => void }>();
  return {
    /** Rejects with the signal's reason if the signal is aborted first. */
    wait: (sequence: number, signal?: AbortSignal): Promise<void> =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const onAbort = () => {
          waiting.delete(one);
          reject(signal?.reason);
        };
        const one = {
          sequence,
          resolve() {
            signal?.removeEventListener('abort', onAbort);
            resolve();
          },
        };
        waiting.add(one);
        signal?.addEventListener('abort', onAbort, { once: true });
      }),
    /** Resolves the waits for this sequence and all earlier ones. */
    reached(sequence: number): void {
      for (const one of waiting) {
        if (one.sequence > sequence) continue;
        waiting.delete(one);
        one.resolve();
      }
    },
  };
}
