/**
 * Parts of the program that are loaded by whoever needs them first.
 *
 * Promise: what was loaded is kept, a failure is not, so whoever needs it next tries again. Absent: a way
 * around Node, which remembers some failures (a file that could not be read) as long as the process lives;
 * then only a restart helps, and the error says so.
 */
import { asError, OrreryError } from '../errors.ts';

/**
 * @param what for people
 * @returns loads it, once. @throws OrreryError PROGRAM_UNREADABLE
 */
export function loadedOnce<T>(what: string, load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => {
    loading ??= load().catch((thrown: unknown) => {
      loading = undefined;
      const text = `${what} could not be loaded: ${asError(thrown).message}; if that lasts, restart this replica`;
      throw new OrreryError('PROGRAM_UNREADABLE', text, { cause: thrown });
    });
    return loading;
  };
}
