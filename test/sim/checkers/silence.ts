/**
 * I3: "A replica that cannot save does nothing outside."
 *
 * A replica whose connection has been cut, or whose every save is lost, for some time begins no effect. What was saved before the cut
 * may still begin within moments: its acknowledgement was on its way.
 */
import type { CheckerKind } from './checker.ts';

/** Messages that were delivered but are followed late (process-bus.ts) can open a shard, and with it its outbox, so much later. */
const momentMs = 2_500;

export const silence: CheckerKind = {
  name: 'I3',
  create(eye) {
    return (sighting) => {
      if (sighting.kind !== 'effect' || sighting.mutedAt === null) return;
      const { replica, key, mutedAt } = sighting;
      const ms = eye.now() - mutedAt;
      if (ms > momentMs) eye.breach(`${replica} begins ${key} after ${Math.round(ms)} ms without a save`);
    };
  },
};
