/** What is told when a request over NATS came to nothing: who is missing, and what to do. Pure. */
import { OrreryError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { isNobody, isNotPermitted, isUnanswered } from '../bus/bus-errors.ts';
import type { BusTrouble } from '../bus/troubles.ts';

const seconds = limits.cliAnswerMs / 1_000;

/**
 * @param error BUS_UNREACHABLE
 * @param where the servers, and how they were chosen
 */
export function noAnswer(
  error: OrreryError,
  { cluster, where }: { readonly cluster: string; readonly where: string },
  troubles: readonly BusTrouble[],
): OrreryError {
  const told = (message: string) => new OrreryError('BUS_UNREACHABLE', message, { cause: error });
  const refused = troubles.map(({ text }) => `${text} (does --nats-inbox fit its permissions?)`).join('; ');
  const nobody = `no replica of cluster "${cluster}" answers at ${where}: `;
  // A replica's own words.
  if (error.facts.told === true) return error;
  if (isNotPermitted(error)) return told(`${error.message}, at ${where}`);
  if (refused !== '') return told(nobody + refused);
  if (isNobody(error)) return told(`${nobody}does one run, and is --cluster right?`);
  if (isUnanswered(error))
    return told(
      `replicas of cluster "${cluster}" listen at ${where}, and none answered within ${seconds} s: they lack processor time, or NATS is slow. Try again; if this goes on, /readyz of each replica says why`,
    );
  return told(`${error.message}, at ${where}`);
}

/** For a failure to send: a message that nobody answered may have arrived. @throws OrreryError always */
export function unknownIfUnanswered(id: string, type: string): (thrown: unknown) => never {
  return (thrown) => {
    if (!isUnanswered(thrown)) throw thrown;
    throw new OrreryError(
      'BUS_UNKNOWN_OUTCOME',
      `no replica answered within ${seconds} s, and whether ${id} took ${type} is not known: "orrery events ${id}" shows what it takes`,
      { cause: thrown },
    );
  };
}
