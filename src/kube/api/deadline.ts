/**
 * A deadline for calls to the Kubernetes API: the work ends by itself, at the deadline, or with the caller's
 * signal, whichever is first.
 */
import type { Clock } from '../../base/clock.ts';
import { OrreryError } from '../../base/errors.ts';

/**
 * Runs `work` with a signal that is aborted after `ms` or with the caller's signal; then it rejects even if
 * the work ignores the signal.
 *
 * @throws OrreryError KUBE_UNREACHABLE at the deadline or when the caller gave up (fact `aborted`)
 */
export async function within<T>(
  deadline: {
    readonly clock: Clock;
    readonly ms: number;
    readonly what: string;
    readonly signal: AbortSignal;
  },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { clock, ms, what, signal } = deadline;
  const ending = new AbortController();
  const onAbort = () => ending.abort(abortedError(what, signal));
  if (signal.aborted) throw abortedError(what, signal);
  signal.addEventListener('abort', onAbort, { once: true });
  const timer = clock.after(ms, () =>
    ending.abort(
      new OrreryError(
        'KUBE_UNREACHABLE',
        `${what}: the Kubernetes API did not answer within ${ms / 1_000} s`,
      ),
    ),
  );
  try {
    return await Promise.race([work(ending.signal), rejection(ending.signal)]);
  } finally {
    timer.cancel();
    signal.removeEventListener('abort', onAbort);
  }
}

export function abortedError(what: string, signal: AbortSignal): OrreryError {
  const isLate = (signal.reason as Partial<Error> | undefined)?.name === 'TimeoutError';
  const text = isLate ? `${what}: the Kubernetes API did not answer in time` : `${what} was given up`;
  return new OrreryError('KUBE_UNREACHABLE', text, {
    cause: signal.reason,
    facts: { aborted: true },
  });
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
