/**
 * Turns of the event loop for whoever plays time: every promise that can continue does so between two turns.
 *
 * A turn for each timer of a simulation would cost more than many a timer does. Node also lets promises
 * continue between two immediates of one turn, so many are set in advance for each turn. Whatever waits for
 * the loop itself gets its turn among them.
 */

/** Immediates in one turn of the loop. */
const batch = 32;

/** Takes steps until one returns false; before each, also the first, waits for all that can continue. */
export function eachTurn(step: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    const take = () => {
      if (isOver) return;
      try {
        isOver = !step();
        if (isOver) resolve();
      } catch (error) {
        isOver = true;
        reject(error);
      }
    };
    const turn = () => {
      take();
      if (isOver) return;
      for (let set = 1; set < batch; set++) setImmediate(take);
      setImmediate(turn);
    };
    setImmediate(turn);
  });
}
