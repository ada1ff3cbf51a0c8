/**
 * What every simulated cluster has, whatever features live in it: time, the broker, and the eye that sees
 * everything that is stored.
 */

import { shardCount } from '../../../src/base/limits.ts';
import type { StreamName } from '../../../src/bus/bus.ts';
import { type MemoryHub, memoryHub } from '../../../src/bus/memory/hub.ts';
import { streamDefinitions } from '../../../src/bus/streams.ts';
import { type Subjects, subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import type { Chance } from '../time/chance.ts';
import { SimClock } from '../time/sim-clock.ts';
import { createLedger, type See } from './sightings.ts';

/** How slow the broker is, ms; every time is drawn up to these. */
export interface BrokerTimes {
  readonly latencyMaxMs: number;
  readonly followLagMaxMs: Readonly<Partial<Record<StreamName, number>>>;
}

export type Trace = (who: string, facts: object, message: string) => void;

export interface Stage {
  readonly clock: SimClock;
  readonly subjects: Subjects;
  /** How many there are. */
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

/** @param network delays of the broker are drawn from it */
export function createStage(parts: StageParts, network: Chance): Stage {
  const { chance, times, see, shards = shardCount } = parts;
  const clock = new SimClock();
  const subjects = subjectsOf('sim');
  const lags = chance.of('lags');
  const hub = memoryHub({
    clock,
    cluster: 'sim',
    streams: streamDefinitions('sim', shards),
    // Which client is served next follows from the delays drawn here; no connection overtakes itself
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
