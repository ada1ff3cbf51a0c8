/**
 * Turns of the event loop for whoever plays time: every promise that can go on does so between one and the
 * next.
 *
 * A turn for each timer of a simulation would cost more than many a timer does. Node lets promises go on
 * between two immediates of one turn as well, so they are set in advance, many for each turn; whatever waits
 * for the loop itself gets its turn among them.
 */

/** Immediates that one turn of the loop is to have. */
const batch = 32;

/** Takes steps until one says false; also the first waits for all that can go on before it. */
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
