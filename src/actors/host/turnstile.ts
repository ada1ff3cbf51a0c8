/** A counting gate: at most so many pass at a time, the others wait in order. */
export interface Gate {
  enter(): Promise<void> | undefined;
  leave(): void;
  readonly inside: number;
}

export function createGate(placesMax: number): Gate {
  const waiting: Array<() => void> = [];
  let inside = 0;
  return {
    enter() {
      if (inside < placesMax) {
        inside++;
        return undefined;
      }
      return new Promise((resolve) => waiting.push(resolve));
    },
    leave() {
      const next = waiting.shift();
      if (next) next();
      else inside--;
    },
    get inside() {
      return inside;
    },
  };
}
