/**
 * I8: "A broken object, message or handler hurts one actor, never its neighbours."
 *
 * Nothing in the simulated world makes a chart fail or a handler throw, so no actor is ever parked. Rubbish
 * in the mail becomes a dead letter. That the messages behind it are taken is for I5 and liveness to check.
 */
import type { CheckerKind } from './checker.ts';

/** @param isRubbish whether nobody can take messages of this type, so that they must be buried */
export const neighbours = (isRubbish: (type: string) => boolean): CheckerKind => ({
  name: 'I8',
  create(eye) {
    let rubbish = 0;
    let buried = 0;
    return (sighting) => {
      if (sighting.kind === 'complaint' && !isRight(sighting.text))
        eye.breach(`${sighting.replica}: ${sighting.actor} ${sighting.text}`);
      // Nobody can bury what was lost with its stream.
      if (sighting.kind === 'lost' && sighting.stream === 'mail') rubbish = buried = 0;
      if (sighting.kind === 'mail' && isRubbish(sighting.type)) rubbish++;
      if (sighting.kind === 'buried' && !sighting.error.startsWith('ACTOR_MISSING')) buried++;
      if (sighting.kind === 'end' && buried < rubbish)
        eye.breach(`${rubbish} messages could not be taken and ${buried} were buried`);
    };
  },
});

/** What a replica rightly complains of where it happens (rare-faults.ts). */
const rightly = [
  'another replica has started under this name',
  'a fence cannot be read',
  'the checkpoint of a shard cannot be read',
  'the mail stream was replaced or restored',
];

const isRight = (text: string) => rightly.some((begin) => text.startsWith(begin));
