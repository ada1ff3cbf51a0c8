/** The form of a flag of `orrery run`. */
import type { Reader } from '../base/config-values.ts';

/** One flag; `read` converts its text to the value, or returns undefined if the text is not allowed. */
export interface Flag<T> {
  readonly placeholder: string;
  readonly description: string;
  /** undefined: none, or described by `defaultText`. */
  readonly default?: string;
  /** For flags whose default is determined at run time. */
  readonly defaultText?: string;
  /** Read when neither the flag nor `ORRERY_<FLAG>` is given. */
  readonly otherEnv?: string;
  readonly allowed: string;
  readonly read: (text: string) => T | undefined;
  /** Without a value on the command line it is `true`. */
  readonly isSwitch?: true;
  /** May be given several times; the values are joined with commas. */
  readonly isRepeatable?: true;
}

export const flag = <T>(reader: Reader<T>, rest: Omit<Flag<T>, 'read' | 'allowed'>): Flag<T> => ({
  ...reader,
  ...rest,
});
