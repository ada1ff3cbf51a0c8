/** What a replica learns when it starts, to tell it in its heartbeats: asked for until there is an answer. */
import { backOffMs } from '../../base/back-off.ts';
import { sleep } from '../../base/clock.ts';
import type { Ambient } from '../../base/log-port.ts';
import { jittered } from '../../base/random.ts';

/** How long a start waits for the answer, ms. */
const patienceMs = 2_000;

/**
 * Resolves when it is learned, or the start has waited long enough; then it goes on being asked for.
 *
 * @param read asks once; what it throws is followed by another attempt
 * @param retryMs the pauses between attempts, ms
 */
export async function learn(
  parts: Pick<Ambient, 'clock' | 'random'>,
  read: () => Promise<void>,
  retryMs: { readonly first: number; readonly most: number },
  signal: AbortSignal,
): Promise<void> {
  const learned = untilRead(parts, read, retryMs, signal);
  learned.catch(() => {});
  await Promise.race([learned, sleep(parts.clock, patienceMs, signal)]).catch(() => {});
}

async function untilRead(
  { clock, random }: Pick<Ambient, 'clock' | 'random'>,
  read: () => Promise<void>,
  { first, most }: { readonly first: number; readonly most: number },
  signal: AbortSignal,
): Promise<void> {
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      return await read();
    } catch {
      await sleep(clock, jittered(backOffMs(failures, first, most), 0.3, random), signal);
    }
  }
}
