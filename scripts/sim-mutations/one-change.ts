/** A mutation of one place. */
import type { Mutation } from './mutations.ts';

export const one = (
  feature: string,
  name: string,
  file: string,
  find: string,
  replace: string,
): Mutation => ({ name, feature, changes: [{ file, find, replace }] });
