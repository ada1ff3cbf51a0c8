/** What runs in a replica of a feature's world. */

import { featureLife as lifeOf } from '../../../packages/testing/replicas/feature-life.ts';
import type { Life, LifeParts } from '../../../packages/testing/replicas/sim-replica.ts';
import type { Chance } from '../../../packages/testing/time/chance.ts';
import type { Log } from '../../../src/base/log-port.ts';
import { apiPort } from '../api/api-port.ts';
import type { ApiStage, FeatureWorld } from './feature-world.ts';

type Used = Pick<FeatureWorld, 'uses' | 'releaseOf'>;

/** @param rightly what replicas rightly complain of: the beginnings of their messages */
export const featureLife =
  (stage: ApiStage, world: Used, chance: Chance, rightly: readonly string[]) =>
  (parts: LifeParts): Life => {
    const { api, clock, weather } = stage;
    const { name, process } = parts.replica;
    // Its world draws the release together with the features.
    const features = world.uses(name);
    const release = world.releaseOf?.(name);
    const life = lifeOf({
      ...{ stage, features },
      random: () => chance.of(`${name} ${chance.int(0, 1e9)}`).random,
      kube: () => apiPort({ api, clock, process, weather, by: name }),
      ...(release === undefined ? {} : { release }),
    });
    return life({ ...parts, log: withRightly(parts.log, rightly) });
  };

/** What a replica rightly complains of in its world is a warning. */
function withRightly(log: Log, rightly: readonly string[]): Log {
  const isRight = (message: string) => rightly.some((begin) => message.startsWith(begin));
  return {
    ...log,
    error: (facts, message) => (isRight(message) ? log.warn(facts, message) : log.error(facts, message)),
  };
}
