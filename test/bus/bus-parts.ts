/** What the tests of the bus share. */

import { hasCode } from '../../src/base/errors.ts';
import type { Bus, FollowFrom, StoredMessage, StreamName } from '../../src/bus/bus.ts';
import type { Subjects } from '../../src/bus/subjects.ts';

/** Two clients of one server. */
export type Clients = () => { a: Bus; b: Bus };

const utf8 = new TextEncoder();
export const bytes = (text: string) => utf8.encode(text);
export const text = (data: Uint8Array) => new TextDecoder().decode(data);
/** The code with which a promise rejects; undefined if it does not. */
export async function codeOf(promise: Promise<unknown>): Promise<string | undefined> {
  try {
    await promise;
    return undefined;
  } catch (error) {
    return hasCode(
      error,
      'BUS_CONFLICT',
      'BUS_REFUSED',
      'BUS_UNKNOWN_OUTCOME',
      'BUS_UNREACHABLE',
      'BUS_VERSION',
      'USAGE',
    )
      ? error.code
      : String(error);
  }
}

/**
 * Resolves when everything that `bus` sent before has reached the server, and the server's messages for it
 * have arrived.
 */
export async function flush(bus: Bus, s: Subjects): Promise<void> {
  await bus.last('event', s.event('pod/flush/none'));
}

export async function collect(bus: Bus, stream: StreamName, filters: readonly string[], from: FollowFrom) {
  const messages: StoredMessage[] = [];
  const following = await bus.follow(stream, {
    subjects: filters,
    from,
    onMessage: (message) => messages.push(message),
  });
  return { messages, following };
}
