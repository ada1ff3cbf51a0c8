/**
 * What every simulated cluster has, whatever features it runs: time, the broker, and a view of everything
 * that is stored.
 */

import { shardCount } from '../../../src/base/limits.ts';
import type { StreamName } from '../../../src/bus/bus.ts';
import { type MemoryHub, memoryHub } from '../../../src/bus/memory/hub.ts';
import { streamDefinitions } from '../../../src/bus/streams.ts';
import { type Subjects, subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import type { Chance } from '../time/chance.ts';
import { SimClock } from '../time/sim-clock.ts';
import { createLedger, type See } from './sightings.ts';

/** The broker's longest delays, ms; each delay is drawn up to these. */
export interface BrokerTimes {
  readonly latencyMaxMs: number;
  readonly followLagMaxMs: Readonly<Partial<Record<StreamName, number>>>;
}

export type Trace = (who: string, facts: object, message: string) => void;

export interface Stage {
  readonly clock: SimClock;
  readonly subjects: Subjects;
  /** Number of shards. */
  readonly shards: number;
  readonly hub: MemoryHub;
  readonly see: See;
  /** Takes the replicas' log lines; null: nobody reads them. */
  readonly trace: Trace | null;
  lagMs(stream: StreamName): number;
}

export interface StageParts {
  readonly chance: Chance;
  readonly times: BrokerTimes;
  readonly see: See;
  readonly trace?: Trace | null;
  /** Absent: as many as the program has. */
  readonly shards?: number;
}

/** @param network source of the broker's delays */
export function createStage(parts: StageParts, network: Chance): Stage {
  const { chance, times, see, shards = shardCount } = parts;
  const clock = new SimClock();
  const subjects = subjectsOf('sim');
  const lags = chance.of('lags');
  const hub = memoryHub({
    clock,
    cluster: 'sim',
    streams: streamDefinitions('sim', shards),
    // The delays drawn here decide which client is served next; no connection overtakes itself
    // (bus/memory/link.ts).
    schedule: (fn) => void clock.after(network.seldomLong(0.01, times.latencyMaxMs), fn),
  });
  hub.observe(createLedger(subjects, see));
  return {
    clock,
    subjects,
    shards,
    hub,
    see,
    trace: parts.trace ?? null,
    lagMs: (stream) => lags.seldomLong(0, times.followLagMaxMs[stream] ?? 0),
  };
}
