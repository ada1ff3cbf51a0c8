/**
 * How long shards are without an owner when theirs is killed: from the signal to the fence of the next one,
 * by the time at which the server stored it. Kills during which nothing else failed are counted apart.
 */
import type { ShardName } from '../../src/base/ids.ts';

export interface FailOvers {
  /** @param at when it was stored, wall time ms */
  fence(shard: ShardName, replica: string | null, at: number): void;
  /** @param at when, wall time ms; @param isAlone nothing else fails just now */
  killed(replica: string, at: number, isAlone: boolean): void;
  /** Something else fails from now on: the kills that are under way are not alone. */
  disturbed(): void;
  /** One line for people. */
  summary(): string;
}

interface Waiting {
  readonly at: number;
  isAlone: boolean;
}

export function measureFailOvers(): FailOvers {
  const owners = new Map<ShardName, string | null>();
  const waiting = new Map<ShardName, Waiting>();
  const alone: number[] = [];
  const all: number[] = [];
  return {
    fence(shard, replica, at) {
      owners.set(shard, replica);
      if (replica === null) return;
      const known = waiting.get(shard);
      waiting.delete(shard);
      if (known === undefined) return;
      const ms = Math.max(0, at - known.at);
      all.push(ms);
      if (known.isAlone) alone.push(ms);
    },
    killed(replica, at, isAlone) {
      for (const [shard, owner] of owners) if (owner === replica) waiting.set(shard, { at, isAlone });
    },
    disturbed() {
      for (const one of waiting.values()) one.isAlone = false;
    },
    summary: () => `${text('alone', alone)}; ${text('in all', all)}`,
  };
}

function text(what: string, times: readonly number[]): string {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.floor(share * sorted.length)] ?? 0);
  return `${what}: ${sorted.length} shards, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
}
