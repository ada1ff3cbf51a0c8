/**
 * A resource that all runs of effects in one replica share: a client, a pool of connections.
 *
 * Owns its lifetime: the first use opens it, the end of the replica closes it, and a failed opening is
 * retried at the next use. Absent: a replica that is killed closes nothing, so nothing that must survive
 * belongs here.
 */
import type { FeatureParts } from '../actors/feature.ts';
import { sleep } from '../base/clock.ts';
import { asError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log-port.ts';
import { Failure } from './failure.ts';

export interface PerReplica<T> {
  /**
   * Opens it. Pending operations must end when the replica stops, as `signal` tells. After 30 s it fails with
   * `TIMEOUT`.
   */
  readonly open: (tools: { readonly log: Log; readonly signal: AbortSignal }) => T | Promise<T>;
  /** Closes it. A replica that stops waits briefly for it. */
  readonly close?: (opened: T) => unknown;
}

/** Declares it; runners get it by `tools.use`: `const pool = perReplica({ open, close })`. */
export function perReplica<T>(options: PerReplica<T>): PerReplica<T> {
  return options;
}

export interface Opened {
  /** @throws what `open` throws */
  use<T>(what: PerReplica<T>): Promise<T>;
  close(): Promise<void>;
}

/** @param call calls code of the feature */
export function createOpened(
  { clock, log }: Pick<FeatureParts, 'clock' | 'log'>,
  call: <T>(what: string, work: () => T) => T,
): Opened {
  const opened = new Map<unknown, Promise<unknown>>();
  const closings: Array<() => Promise<void>> = [];
  const ended = new AbortController();
  const open = async <T>(what: PerReplica<T>): Promise<T> => {
    ended.signal.throwIfAborted();
    const opening = (async () => call('open', () => what.open({ log, signal: ended.signal })))();
    const close = async () => void (await call('close', async () => what.close?.(await opening)));
    const late = sleep(clock, limits.effectTimeoutMs, ended.signal).then(() => {
      throw new Failure('what effects share was not opened in time', { code: 'TIMEOUT' });
    });
    try {
      const value = await Promise.race([opening, late]);
      closings.push(close);
      return value;
    } catch (error) {
      opened.delete(what);
      // The result came too late, so nobody uses it.
      close().catch(() => {});
      throw error;
    }
  };
  return {
    use<T>(what: PerReplica<T>) {
      const known = opened.get(what) ?? open(what);
      opened.set(what, known);
      return known as Promise<T>;
    },
    async close() {
      ended.abort(new Error('the replica stops'));
      const closed = closings
        .splice(0)
        .map((close) =>
          close().catch((error) => log.warn({ error: asError(error).message }, 'a feature could not close')),
        );
      await Promise.race([Promise.all(closed), sleep(clock, limits.closeTimeoutMs)]);
    },
  };
}
