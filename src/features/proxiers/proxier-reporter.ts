/**
 * Reports of a service proxy to a program that keeps its health elsewhere: levels with a sequence, repeated
 * until they were taken.
 *
 * A report states how a family stands, not what just happened: the next one makes up for a lost one, and of
 * several that wait only the latest is sent (docs/features/proxiers.md §1). Sequences grow across restarts,
 * because they start at the time. Promises: one report is in transit at a time; one that fails or is not
 * answered in time is repeated after a pause, with the newest level, as often as necessary; one that was
 * taken is said anew after a while, because whoever takes it may lose it, and forgets who is silent for a
 * day. Absent: how it is sent.
 */
import type { IpFamily } from '../../base/address.ts';
import { backOffMs } from '../../base/back-off.ts';
import { type Clock, sleep, type Timer } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import { jittered, type Random } from '../../base/random.ts';
import type { FamilyHealth } from '../../machines/proxier/health-family.ts';
import type { ProxierReport } from '../../machines/proxier/proxier-events.ts';

/**
 * Resolves when the report was taken: an answer of `rpc.send` with `accepted`, or the stream's
 * acknowledgement. The signal ends a futile attempt.
 */
export type SendReport = (report: ProxierReport, signal: AbortSignal) => Promise<unknown>;

export type Reporter = ReturnType<typeof createReporter>;

export function createReporter(parts: {
  readonly send: SendReport;
  readonly clock: Clock;
  readonly random: Random;
}) {
  const lines = (['IPv4', 'IPv6'] as const).map((family) => ({ family, line: startLine(parts, family) }));
  return {
    /** Sets the families' present state. */
    tell(families: Readonly<Record<IpFamily, FamilyHealth>>): void {
      for (const { family, line } of lines) line.tell(families[family]);
    },
    stop(): void {
      for (const { line } of lines) line.stop();
    },
  };
}

/** What a program of its own throws at once is a failed attempt as well. */
async function isTakenBy(send: SendReport, report: ProxierReport, signal: AbortSignal): Promise<boolean> {
  try {
    await send(report, signal);
    return true;
  } catch {
    return false;
  }
}

function startLine(
  { send, clock, random }: Parameters<typeof createReporter>[0],
  family: IpFamily,
): { tell(health: FamilyHealth): void; stop(): void } {
  const ending = new AbortController();
  let level: ProxierReport = { type: 'proxier.reported', family, queuedAt: null, updatedAt: null, seq: 0 };
  let taken = 0;
  let isSaying = false;
  let anew: Timer | null = null;

  const attempt = async (report: ProxierReport): Promise<boolean> => {
    const patience = new AbortController();
    const both = AbortSignal.any([patience.signal, ending.signal]);
    const late = sleep(clock, limits.proxierReportMs, both).then(
      () => false,
      () => false,
    );
    const done = isTakenBy(send, report, both);
    const isTaken = await Promise.race([done, late]);
    patience.abort(new Error('the report is over'));
    return isTaken;
  };
  const sayAll = async () => {
    for (let failures = 0; taken < level.seq && !ending.signal.aborted; ) {
      const report = level;
      if (await attempt(report)) {
        taken = report.seq;
        failures = 0;
        continue;
      }
      const pause = backOffMs(failures++, 250, limits.proxierReportMs);
      await sleep(clock, jittered(pause, 0.3, random), ending.signal).catch(() => {});
    }
  };
  const say = (change: Partial<ProxierReport> = {}) => {
    level = { ...level, ...change, seq: Math.max(level.seq + 1, Math.floor(clock.now())) };
    if (isSaying) return;
    isSaying = true;
    anew?.cancel();
    void sayAll().finally(() => {
      isSaying = false;
      if (ending.signal.aborted) return;
      const isTaken = taken >= level.seq;
      anew = clock.after(isTaken ? jittered(limits.proxierRestateMs, 0.1, random) : 0, say);
    });
  };
  return {
    tell({ pendingSince: queuedAt, lastUpdated: updatedAt }) {
      if (queuedAt !== level.queuedAt || updatedAt !== level.updatedAt) say({ queuedAt, updatedAt });
    },
    stop() {
      ending.abort(new Error('the reporter ends'));
      anew?.cancel();
    },
  };
}
