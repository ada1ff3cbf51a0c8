/** The form of a mutation, and the short way to write one of a single place. */

export interface Mutation {
  /** What is broken, in words. */
  readonly name: string;
  /** The feature whose simulation should find it. */
  readonly feature: string;
  readonly changes: ReadonlyArray<{
    readonly file: string;
    readonly find: string;
    readonly replace: string;
  }>;
}

/** A mutation of one place. */
export const one = (
  feature: string,
  name: string,
  file: string,
  find: string,
  replace: string,
): Mutation => ({ name, feature, changes: [{ file, find, replace }] });
