/**
 * The dependencies of every part of the development cluster: the API server, time, chance, and a log.
 */
import type { Clock } from '../../src/base/clock.ts';
import type { KubePort } from '../../src/base/kube-port.ts';
import type { Log } from '../../src/base/log.ts';
import type { Random } from '../../src/base/random.ts';

export interface DevParts {
  readonly kube: KubePort;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The only namespace whose objects are looked after; absent: all. */
  readonly namespace?: string;
}

/** A moving part that runs until it is stopped; stopping it closes every socket and timer it holds. */
export interface DevPart {
  stop(): Promise<void>;
}
