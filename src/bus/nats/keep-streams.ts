/**
 * Keeps the streams of a cluster in existence for as long as the connection lives.
 *
 * Checks them after each reconnect, because the server may be another one with an empty disk, and every few
 * seconds, because somebody may have deleted one, and a replica of an older release removes settings that it
 * does not know at each of its reconnects.
 */
import { sleep } from '../../base/clock.ts';
import { asError } from '../../base/errors.ts';
import type { Ambient } from '../../base/log-port.ts';
import { jittered } from '../../base/random.ts';
import { unreachable } from '../bus-errors.ts';
import type { StreamDefinitions } from '../streams.ts';
import { ensureStreams } from './ensure-streams.ts';
import type { JetStreamApi } from './jetstream-api.ts';
import { type KeepTrying, keepTrying } from './keep-trying.ts';
import type { Wire } from './wire.ts';

/** One small request for each stream; messages sent to a deleted stream in the meantime are not stored. */
const lookMs = 2_000;

export interface KeepStreams extends Ambient {
  readonly wire: Wire;
  readonly api: JetStreamApi;
  readonly streams: StreamDefinitions;
  /** Copies of each. */
  readonly replicas: number;
  readonly signal?: AbortSignal | undefined;
}

/** Resolves when the streams are there. @throws OrreryError as `ensureStreams` and `keepTrying` do */
export async function keepStreams(parts: KeepStreams): Promise<void> {
  const { wire, api, streams, replicas, log } = parts;
  const attempt = {
    ...parts,
    facts: {},
    trouble: 'JetStream does not answer; trying until it does',
    success: 'JetStream answers now',
  };
  await keepTrying(attempt, () => ensureStreams(api, streams, replicas));
  /** One check at a time. It ends with the connection; the next connection starts another. */
  let looking: AbortController | undefined;
  const lookAgain = (isNew: boolean): void => {
    const mine = new AbortController();
    looking = mine;
    lookAfter({ ...parts, signal: mine.signal }, attempt, isNew).catch((error) => {
      if (!mine.signal.aborted) log.error({ error: asError(error) }, 'the streams could not be checked');
    });
  };
  wire.onStatus((status) => {
    looking?.abort(unreachable(status));
    if (status === 'connected') lookAgain(true);
  });
  if (wire.status === 'connected') lookAgain(false);
}

/** Runs until the connection is lost. */
async function lookAfter(
  parts: KeepStreams & { readonly signal: AbortSignal },
  attempt: Omit<KeepTrying, 'signal'>,
  isNew: boolean,
): Promise<void> {
  const { api, streams, replicas, clock, random, log, signal } = parts;
  const ensure = () => keepTrying({ ...attempt, signal }, () => ensureStreams(api, streams, replicas));
  if (isNew) await ensure();
  for (;;) {
    await sleep(clock, jittered(lookMs, 0.3, random), signal);
    const missing = await ensure();
    if (missing.length > 0)
      log.error({ streams: missing }, 'a stream had disappeared while NATS runs; it was recreated, empty');
  }
}
