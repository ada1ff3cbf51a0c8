/**
 * Decides who sent a message of the mail: an actor, for which a replica vouches, or somebody outside.
 *
 * Only replicas publish on `tell`, and its header names the sender. Over `send` anybody may write any header,
 * so senders there are never actors – except while a replica lives whose release knows only `send` (0.1.0
 * before `tell`), because its actors could not be heard otherwise. Promise: messages that such a replica left
 * unread are still accepted, whoever opens the shard next: each shard's checkpoint stores the time limit.
 */
import { OrreryError } from '../../base/errors.ts';
import { type ActorId, parseActorId } from '../../base/ids.ts';
import type { StoredMessage } from '../../bus/bus.ts';
import { headerOf } from '../../bus/envelope.ts';
import type { HostParts } from '../host/host-parts.ts';
import { fromHeader } from '../host/message-send.ts';
import type { ShardRun } from '../host/owned.ts';
import type { Origin } from '../kind.ts';

/**
 * By then everything that a replica sent before it ended is stored, and its silence is no pause of the
 * network.
 */
export const earlierSilenceMs = 10_000;

/** The time until which the shard's mail over `send` may come from actors, ms since the epoch. */
export function openUntil(
  parts: Pick<HostParts, 'earlierHeardAt'>,
  run: Pick<ShardRun, 'sendIsOpenUntil'>,
): number {
  const heardAt = parts.earlierHeardAt();
  return Math.max(run.sendIsOpenUntil, heardAt === 0 ? 0 : heardAt + earlierSilenceMs);
}

/** @throws OrreryError MESSAGE_NOT_ALLOWED for a message between actors that names no actor */
export function originOf(
  parts: Pick<HostParts, 'earlierHeardAt' | 'subjects'>,
  run: Pick<ShardRun, 'sendIsOpenUntil'>,
  message: StoredMessage,
  to: ActorId,
): Origin {
  const outside = { receivedAt: message.storedAt, isTrusted: false };
  const from = headerOf(message.headers, fromHeader);
  if (parts.subjects.parseTell(message.subject) !== undefined)
    return { ...outside, between: { from: actorIn(from), to } };
  const isOpen = from !== undefined && message.storedAt <= openUntil(parts, run);
  return isOpen ? { ...outside, between: { from: actorIn(from), to } } : outside;
}

function actorIn(text: string | undefined): ActorId {
  try {
    const { kind, namespace, name } = parseActorId(text ?? '');
    return `${kind}/${namespace}/${name}`;
  } catch (error) {
    throw new OrreryError('MESSAGE_NOT_ALLOWED', `the message names no actor that sent it: ${text ?? ''}`, {
      cause: error,
    });
  }
}
