/**
 * Handles the API server's answers about an object that does not exist, or whose name another object has.
 */
import { hasCode, type OrreryError } from '../../base/errors.ts';

/** null: the object does not exist. */
export async function unlessGone<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (thrown) {
    if (hasCode(thrown, 'KUBE_NOT_FOUND')) return null;
    throw thrown;
  }
}

/** For a write with a uid: does nothing if the object is gone, or another one has its name. */
export async function unlessAnother(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (thrown) {
    if (!isAnother(thrown) && !hasCode(thrown, 'KUBE_NOT_FOUND')) throw thrown;
  }
}

/**
 * A different uid is a conflict to some versions of the API server and an invalid field (422) to others. An
 * admission policy refuses with 422, too: that says nothing about the object.
 */
export function isAnother(thrown: unknown): thrown is OrreryError {
  return hasCode(thrown, 'KUBE_CONFLICT') || (isInvalid(thrown) && thrown.message.includes('metadata.uid'));
}

/** The object is not as a JSON patch says (`test`), or a path is missing. The API server says no more. */
export const isPatchUnfit = (thrown: unknown): boolean =>
  isInvalid(thrown) && thrown.message.includes('rejected our request due to an error in our request');

export function isInvalid(thrown: unknown): thrown is OrreryError {
  return hasCode(thrown, 'KUBE_REFUSED') && thrown.facts.status === 422;
}
