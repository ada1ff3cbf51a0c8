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
import { ask, type WireRequests } from '../wire-requests.ts';

/** No stream has this name, so each that takes the subject refuses the message, and says its own name. */
const expectedStream = { 'Nats-Expected-Stream': 'none' };
/** One round trip; somebody else who listens there (`nats sub 'orrery.>'`) lets it wait for this long, ms. */
const patienceMs = 1_000;
const nothing = new Uint8Array(0);

/**
 * Whether a JetStream has a stream of this name that takes messages sent from here.
 *
 * @param subject any that the stream takes
 */
export function isTakenSomewhere(
  requests: WireRequests,
  { name }: StreamDefinition,
  subject: string,
): Promise<boolean> {
  const taken = ask(requests, {
    subject,
    data: nothing,
    headers: expectedStream,
    timeoutMs: patienceMs,
    read: (message) => attempt(() => jsonOf(message).stream === name, false),
    failed: (failure) => new Error(failure),
  });
  return taken.catch(() => false);
}

/** Transient: it is over once this server leads to the other JetStream. */
export function secondStore({ name }: StreamDefinition): OrreryError {
  const text = `there is no stream ${name} in this JetStream, but in another one that shares its subjects: this NATS server, or one on the way, is a leaf node with a JetStream of its own. Turn that off for this account and name the hub's domain (default_js_domain), or connect to the hub`;
  return new OrreryError('BUS_UNREACHABLE', text);
}
