/**
 * Which shard an actor belongs to: the same function as the NATS server's `partition(64,1,2,3)` over the
 * three tokens.
 *
 * The server hashes the tokens one after the other, without a separator, by FNV-1a of 32 bits and takes the
 * remainder. A test sends many ids through a real server and compares.
 */
import type { ActorId } from '../base/ids.ts';
import { shardCount } from '../base/limits.ts';
import { actorTokens } from './subjects.ts';

const fnvOffset = 0x811c9dc5;
const fnvPrime = 0x01000193;

/** The shard of an actor, 0 … `shards` - 1. */
export function shardOf(id: ActorId, shards: number = shardCount): number {
  return partition(actorTokens(id), shards);
}

/** The server's `partition(n, …)` over tokens that are already escaped, and so are ASCII. */
export function partition(tokens: readonly string[], shards: number): number {
  let hash = fnvOffset;
  for (const token of tokens) {
    for (let at = 0; at < token.length; at++) hash = Math.imul(hash ^ token.charCodeAt(at), fnvPrime);
  }
  return (hash >>> 0) % shards;
}
