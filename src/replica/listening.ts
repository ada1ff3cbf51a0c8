/** Names the flag of an address on which the system does not let a replica listen. */
import { type HostPort, hostPortText } from '../base/config-values.ts';
import { asError, inPlainWords } from '../base/errors.ts';

/**
 * The server, once it listens.
 *
 * @param flag without dashes, which gives the address
 * @throws Error with the flag, the address and, in words, why it cannot be used
 */
export async function listeningOn<T>(flag: string, address: HostPort, starting: Promise<T>): Promise<T> {
  try {
    return await starting;
  } catch (error) {
    const why = inPlainWords(asError(error).message);
    throw new Error(`--${flag}: a replica cannot listen on ${hostPortText(address)}: ${why}`, {
      cause: error,
    });
  }
}
