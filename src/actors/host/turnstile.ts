/** A counting semaphore: a limited number pass at a time, the others wait in order. */
export function createTurnstile(placesMax: number) {
  const waiting: Array<() => void> = [];
  let inside = 0;
  return {
    enter(): Promise<void> | undefined {
      if (inside < placesMax) {
        inside++;
        return undefined;
      }
      return new Promise((resolve) => waiting.push(resolve));
    },
    leave(): void {
      const next = waiting.shift();
      if (next) next();
      else inside--;
    },
    get inside(): number {
      return inside;
    },
  };
}
