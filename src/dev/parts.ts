/**
 * What every moving part of the development cluster is handed: the API server, time, chance, and a log.
 */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { KubePort } from '../kube/port.ts';

export interface DevParts {
  readonly kube: KubePort;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Looks after the objects of this namespace alone; all if absent. */
  readonly namespace?: string;
}

/** A moving part that runs until it is stopped; stopping it closes every socket and timer it holds. */
export interface DevPart {
  stop(): Promise<void>;
}
