/**
 * I8: "A broken object, message or handler hurts one actor, never its neighbours."
 *
 * Nothing in the simulated world makes a chart fail or a handler throw: no actor is ever parked. Rubbish in
 * the mail becomes a dead letter; that the messages behind it are taken is I5's and liveness' to see.
 */
import type { CheckerKind } from './checker.ts';

/** @param isRubbish messages of this type can be taken by nobody, and must be buried */
export const neighbours = (isRubbish: (type: string) => boolean): CheckerKind => ({
  name: 'I8',
  create(eye) {
    let rubbish = 0;
    let buried = 0;
    return (sighting) => {
      if (sighting.kind === 'complaint' && !isRight(sighting.text))
        eye.breach(`${sighting.replica}: ${sighting.actor} ${sighting.text}`);
      // What was lost with its stream nobody can bury.
      if (sighting.kind === 'lost' && sighting.stream === 'mail') rubbish = buried = 0;
      if (sighting.kind === 'mail' && isRubbish(sighting.type)) rubbish++;
      if (sighting.kind === 'buried' && !sighting.error.startsWith('ACTOR_MISSING')) buried++;
      if (sighting.kind === 'end' && buried < rubbish)
        eye.breach(`${rubbish} messages could not be taken and ${buried} were buried`);
    };
  },
});

/** What a replica rightly complains of in a world in which it happens (rare-faults.ts). */
const rightly = [
  'another replica has started under this name',
  'a fence cannot be read',
  'the checkpoint of a shard cannot be read',
  'the mail stream was replaced or restored',
];

const isRight = (text: string) => rightly.some((begin) => text.startsWith(begin));
