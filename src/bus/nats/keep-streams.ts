/**
 * Keeps the streams of a cluster in existence for as long as the connection lives.
 *
 * After each reconnect they are looked at again: the server may be another one, with an empty disk.
 */
import type { Clock } from '../../base/clock.ts';
import { asError } from '../../base/errors.ts';
import type { Log } from '../../base/log-port.ts';
import type { Random } from '../../base/random.ts';
import type { StreamDefinitions } from '../streams.ts';
import { ensureStreams } from './ensure-streams.ts';
import type { JetStreamApi } from './jetstream-api.ts';
import { keepTrying } from './keep-trying.ts';
import type { Wire } from './wire.ts';

export interface KeepStreams {
  readonly wire: Wire;
  readonly api: JetStreamApi;
  readonly streams: StreamDefinitions;
  /** Copies of each. */
  readonly replicas: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal?: AbortSignal | undefined;
}

/** Resolves when the streams are there. @throws OrreryError as `ensureStreams` and `keepTrying` do */
export async function keepStreams(options: KeepStreams): Promise<void> {
  const { wire, api, streams, replicas, log } = options;
  const attempt = {
    ...options,
    facts: {},
    trouble: 'JetStream does not answer; trying until it does',
    success: 'JetStream answers now',
  };
  await keepTrying(attempt, () => ensureStreams(api, streams, replicas));
  /** One at a time; ends with the connection, the next one begins again. */
  let looking: AbortController | undefined;
  wire.onStatus((status) => {
    looking?.abort();
    if (status !== 'connected') return;
    const mine = new AbortController();
    looking = mine;
    keepTrying({ ...attempt, signal: mine.signal }, () => ensureStreams(api, streams, replicas)).catch(
      (error) => {
        if (!mine.signal.aborted)
          log.error({ error: asError(error) }, 'the streams could not be looked after');
      },
    );
  });
}
