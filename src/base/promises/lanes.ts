/** Work that must not overlap with its like. Pure. */

/** Runs the works of each lane one after another, however the one before ended. */
export function createLanes() {
  const ends = new Map<string, Promise<void>>();
  return <T>(lane: string, work: () => Promise<T>): Promise<T> => {
    const result = (ends.get(lane) ?? Promise.resolve()).then(work);
    // Whoever waits for the result hears of its failure; there may be nobody left.
    const end = Promise.allSettled([result]).then(() => {
      if (ends.get(lane) === end) ends.delete(lane);
    });
    ends.set(lane, end);
    return result;
  };
}
