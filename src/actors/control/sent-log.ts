/**
 * Logs who sent which event to which actor by request, and the outcome.
 *
 * Promise: at most `linesPerSecond` lines, so that a program that sends constantly cannot fill a disk; the
 * next line says how many were left out. Absent: mail, which appears in the feed only.
 */
import type { Clock } from '../../base/clock.ts';
import type { ActorId } from '../../base/ids.ts';
import type { Log } from '../../base/log-port.ts';

export interface Sent {
  readonly actor: ActorId;
  readonly event: string;
  /** `unknown`: neither the server nor a replica names the sender. */
  readonly by: string;
  /** `stepped`, `ignored`, or the code of the refusal. */
  readonly outcome: string;
}

const linesPerSecond = 10;

export function createSentLog(log: Log, clock: Clock): (sent: Sent) => void {
  let begun = Number.NEGATIVE_INFINITY;
  let lines = 0;
  let leftOut = 0;
  return (sent) => {
    const now = clock.monotonic();
    if (now - begun >= 1_000) [begun, lines] = [now, 0];
    if (++lines > linesPerSecond) {
      leftOut++;
      return;
    }
    log.info(leftOut === 0 ? { ...sent } : { ...sent, leftOut }, 'an event was sent');
    leftOut = 0;
  };
}
