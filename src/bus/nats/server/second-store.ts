/**
 * Keeps a replica from making the streams of its cluster in a second JetStream.
 *
 * A leaf node with a JetStream of its own shares all subjects with its hub, and no streams. Replicas on both
 * would each have a state stream, with fences of its own: two owners of every shard. So where a replica that
 * starts finds no state stream, it asks on the stream's own subject, with a condition that no stream meets,
 * whether some JetStream takes what is sent there. Absent: replicas that already have two (actors/members).
 */
import { attempt, OrreryError } from '../../../base/errors.ts';
import type { StreamDefinition } from '../../streams.ts';
import { jsonOf } from '../jetstream-api.ts';
import type { WireMessage } from '../wire.ts';
import type { WireRequests } from '../wire-requests.ts';

/** No stream has this name, so each that takes the subject refuses the message, and says its own name. */
const expectedStream = { 'Nats-Expected-Stream': 'none' };
/** Somebody else who listens there (`nats sub 'orrery.>'`) lets it wait for this long, ms. */
const patienceMs = 1_000;
/** How long a second answer may take: a round trip to a leaf node on another continent, ms. */
const secondMs = 400;
const nothing = new Uint8Array(0);

/** Whether a JetStream has a stream of this name that takes messages sent from here. */
export async function isTakenSomewhere(
  requests: WireRequests,
  definition: StreamDefinition,
): Promise<boolean> {
  return (await takersOf(requests, definition, 1, patienceMs)) > 0;
}

/** How many JetStreams have a stream of this name and take what is sent to it from here: 2 are all. */
export function numberOfTakers(requests: WireRequests, definition: StreamDefinition): Promise<number> {
  return takersOf(requests, definition, 2, secondMs);
}

function takersOf(
  requests: WireRequests,
  { name, subjects }: StreamDefinition,
  enough: number,
  timeoutMs: number,
): Promise<number> {
  const subject = subjects[0]?.replace(/[*>]/g, '0') ?? '';
  return new Promise((resolve) => {
    let count = 0;
    const onAnswer = (message: WireMessage): boolean => {
      if (attempt(() => jsonOf(message).stream === name, false)) count++;
      if (count >= enough) resolve(count);
      return count < enough;
    };
    const sending = { headers: expectedStream, timeoutMs, isIdle: true };
    requests.send(subject, nothing, sending, { onAnswer, onFailure: () => resolve(count) });
  });
}

/** Transient: it is over once this server leads to the other JetStream. */
export function secondStore({ name }: StreamDefinition): OrreryError {
  const text = `there is no stream ${name} in this JetStream, but in another one that shares its subjects: this NATS server, or one on the way, is a leaf node with a JetStream of its own. Turn that off for this account and name the hub's domain (default_js_domain), or connect to the hub`;
  return new OrreryError('BUS_UNREACHABLE', text);
}
