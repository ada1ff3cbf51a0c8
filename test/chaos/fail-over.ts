/**
 * How long shards have no owner when theirs is killed: from the signal to the fence of the next one, by the
 * server's time of storage. Kills without other faults are counted separately.
 */
import type { ShardName } from '../../src/base/ids.ts';

export interface FailOvers {
  /** @param at when it was stored, wall time ms */
  fence(shard: ShardName, replica: string | null, at: number): void;
  /**
   * @param at wall time, ms
   * @param isAlone nothing else fails at present
   */
  killed(replica: string, at: number, isAlone: boolean): void;
  /** Something else fails from now on: kills in progress are no longer alone. */
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
