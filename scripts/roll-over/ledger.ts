/**
 * What the streams say of every actor while replicas of two releases take turns, and what of it must not be.
 *
 * Reads the records and the feed from the first message on. Promises: each difference is reported once, with
 * its actor. Records never go back. On the feed each step is the next revision, is told once, and begins in
 * the state in which the one before ended. So no effect is requested twice: its step identifies it.
 */
import { type ActorRecord, type Bus, subjectsOf, type Transition, unpackRecord } from './product.ts';
import { clusterName } from './stage.ts';

interface Seen {
  readonly rev: number;
  readonly fence: number;
  readonly gone: boolean;
}

export interface Ledger {
  readonly differences: readonly string[];
  readonly counts: { records: number; steps: number };
  /** Present records, by actor. */
  readonly records: ReadonlyMap<string, ActorRecord>;
  /** The last step of each actor on the feed. */
  readonly steps: ReadonlyMap<string, Transition>;
  /** Actor → how many steps it took in replicas of that name, since the ledger began. */
  stepsOf(replica: RegExp): ReadonlyMap<string, number>;
  stop(): Promise<void>;
}

export async function keepLedger(bus: Bus): Promise<Ledger> {
  const subjects = subjectsOf(clusterName);
  const differences: string[] = [];
  const counts = { records: 0, steps: 0 };
  const records = new Map<string, ActorRecord>();
  const steps = new Map<string, Transition>();
  const byReplica = new Map<string, Map<string, number>>();
  const text = new TextDecoder();

  const state = await bus.follow('state', {
    subjects: [subjects.stateAll],
    from: { kind: 'lastPerSubject' },
    onMessage({ subject, data }) {
      const parsed = subjects.parseState(subject);
      if (parsed === undefined || data.byteLength === 0) return;
      counts.records += 1;
      const record = unpackRecord(data, parsed.id);
      differences.push(...recordDifferences(parsed.id, records.get(parsed.id), record));
      records.set(parsed.id, record);
    },
  });
  const feed = await bus.follow('event', {
    subjects: [subjects.eventAll],
    from: { kind: 'sequence', sequence: 1 },
    onMessage({ data }) {
      counts.steps += 1;
      const step = JSON.parse(text.decode(data)) as Transition;
      differences.push(...stepDifferences(steps.get(step.id), step));
      steps.set(step.id, step);
      const own = byReplica.get(step.replica) ?? new Map<string, number>();
      own.set(step.id, (own.get(step.id) ?? 0) + 1);
      byReplica.set(step.replica, own);
    },
  });
  return {
    differences,
    counts,
    records,
    steps,
    stepsOf(replica) {
      const all = new Map<string, number>();
      for (const [name, own] of byReplica) {
        if (!replica.test(name)) continue;
        for (const [id, count] of own) all.set(id, (all.get(id) ?? 0) + count);
      }
      return all;
    },
    async stop() {
      await state.stop();
      await feed.stop();
    },
  };
}

/**
 * The stream keeps only the last record, so one may be overwritten before it is read here. The feed shows
 * that none is missing.
 */
function recordDifferences(id: string, before: Seen | undefined, now: ActorRecord): string[] {
  if (before === undefined) return [];
  const isBack = now.rev < before.rev || now.fence < before.fence;
  if (!isBack || (before.gone && now.rev === 1)) return [];
  return [`${id}: record ${before.rev} under fence ${before.fence}, then ${now.rev} under ${now.fence}`];
}

function stepDifferences(before: Transition | undefined, now: Transition): string[] {
  const expected = (before?.rev ?? 0) + 1;
  if (now.rev === expected) return before === undefined ? [] : stateDifference(before, now);
  return [`${now.id}: step ${before?.rev ?? 0} then ${now.rev}, by ${now.replica}`];
}

/**
 * A step begins in the state in which the one before ended; null: the actor started afresh. Heartbeats are
 * saved without being told; the step after them says from what it resumes.
 */
function stateDifference(before: Transition, now: Transition): string[] {
  if (now.from === null || now.from === before.to || now.resumes !== undefined) return [];
  return [`${now.id}: step ${now.rev} begins in ${now.from}, the one before ended in ${before.to}`];
}
