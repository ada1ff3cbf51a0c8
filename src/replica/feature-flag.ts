/**
 * The flag `--feature`, which names features of your own to load. Shared by replicas and reading commands.
 */
import type { Reader } from '../base/config-values.ts';
import { flag } from './flag.ts';

const places: Reader<readonly string[]> = {
  allowed: 'paths of feature files, or names of packages, separated by commas',
  read(text) {
    const found = text.split(',').map((one) => one.trim());
    return found.some((one) => one === '') ? undefined : [...new Set(found)];
  },
};

/** Its variable is `ORRERY_FEATURES`. */
export const featureFlag = flag(places, {
  placeholder: 'PATH',
  description:
    'a feature to load besides the built-in ones: a file or a package; repeatable, the same for all replicas',
  defaultText: 'none',
  otherEnv: 'ORRERY_FEATURES',
  isRepeatable: true,
});
