/**
 * The shard of an actor, by the same function as the NATS server's `partition(64,1,2,3)` over the three
 * tokens of its id.
 *
 * The server hashes the tokens one after another, without a separator, with 32-bit FNV-1a and takes the
 * remainder. A test sends many ids through a real server and compares.
 */
import type { ActorId } from '../base/ids.ts';
import { shardCount } from '../base/limits.ts';
import { actorTokens } from './subjects.ts';

const fnvOffset = 0x811c9dc5;
const fnvPrime = 0x01000193;

/** Hashes kept, about a megabyte: every event of an actor needs its shard. */
const hashesKept = 8_192;
const hashes = new Map<ActorId, number>();

/** The shard of an actor, 0 … `shards` - 1. */
export function shardOf(id: ActorId, shards: number = shardCount): number {
  const known = hashes.get(id);
  if (known !== undefined) return known % shards;
  if (hashes.size >= hashesKept) hashes.clear();
  const hash = hashOf(actorTokens(id));
  hashes.set(id, hash);
  return hash % shards;
}

/** The server's `partition(n, …)` over tokens that are already escaped and therefore ASCII. */
export const partition = (tokens: readonly string[], shards: number) => hashOf(tokens) % shards;

function hashOf(tokens: readonly string[]): number {
  let hash = fnvOffset;
  for (const token of tokens) {
    for (let at = 0; at < token.length; at++) hash = Math.imul(hash ^ token.charCodeAt(at), fnvPrime);
  }
  return hash >>> 0;
}
