/**
 * Asks NATS whether a silent replica is still connected.
 *
 * Each process listens on a subject of its own. When a process dies, its connection ends and NATS takes the
 * subscription away; whoever asks on that subject then is told at once that nobody listens. Two such answers
 * say that it is gone, sooner than silence alone. One that is paused stays connected, and one whose NATS
 * server died is connected to another by then: both have all the time that silence allows.
 *
 * Promises: only who has answered us over our present connection counts as gone when nobody listens there:
 * permissions, a leaf node or another account may let signs of life through and nothing else. And it is gone
 * only if no sign of life came from before the first question on. Who keeps being late (patience.ts) is not
 * asked for. Nor is anybody for five seconds after our own connection was lost: others may still be on their
 * way back. An answer is a sign of life.
 */
import { backOffMs } from '../../base/back-off.ts';
import { sleep, type Timer } from '../../base/clock.ts';
import { isNobody } from '../../bus/bus-errors.ts';
import { matcher } from '../../bus/subject-match.ts';
import type { HostParts } from '../host/host-parts.ts';
import type { Member, Members } from './members.ts';

/** By then four signs of life are missing, and who lost its NATS server has had time to find another, ms. */
const askAfterMs = 800;
/** The pause before the second question, ms. */
const againMs = 150;
/** Who is there answers within milliseconds; one that is paused does not, ms. */
const patienceMs = 1_000;
/** How long others may need to be connected again after an outage, ms. */
const settlingMs = 5_000;
/** So many are asked for the first time in one beat, at most. */
const askedMax = 16;
/** How often a process asks for itself until it is heard, ms: at each beat at first. */
const tryMinMs = 500;
/** What was refused within a minute is known to be refused (publish-refusals.ts). */
const tryMaxMs = 30_000;
const nothing = new Uint8Array();

export interface RollCallParts extends Pick<HostParts, 'bus' | 'subjects' | 'clock'> {
  readonly replica: string;
  readonly incarnation: string;
  readonly members: Pick<Members, 'process' | 'notePulse'>;
  /** Those who may turn out to be gone. */
  readonly candidates: () => readonly Member[];
  /** Whether the broker brings this replica its own beats. */
  readonly hearsSelf: () => boolean;
  readonly onGone: () => void;
}

export function startRollCall(parts: RollCallParts) {
  const { clock, members, candidates, hearsSelf, onGone } = parts;
  const line = openLine(parts);
  /** By incarnation, as each was when it was found to be gone. */
  const gone = new Map<string, Member>();
  const met = createMet(line.connection);
  const asked = new Set<string>();
  let timer: Timer | null = null;

  async function meet(member: Member): Promise<void> {
    const answered = met.start(member);
    if ((await line.ask(member)) === 'there') answered();
  }

  async function call(member: Member): Promise<void> {
    if (!(await line.isAway(member))) return;
    // If this process ends meanwhile, nobody answers it any more.
    await sleep(clock, againMs, line.signal).catch(() => {});
    if (!(await line.isAway(member)) || !hearsSelf() || !line.isSettled()) return;
    gone.set(member.incarnation, member);
    onGone();
  }

  function begin(member: Member, question: (member: Member) => Promise<void>): void {
    asked.add(member.incarnation);
    void question(member).finally(() => void asked.delete(member.incarnation));
  }

  const look = (): void => {
    timer?.cancel();
    if (line.signal.aborted || !line.isSettled() || !line.isHeard()) return;
    const now = clock.monotonic();
    const waiting = candidates().filter((one) => one.answers === true && !asked.has(one.incarnation));
    let next = Number.POSITIVE_INFINITY;
    for (const member of waiting.filter(met.has)) {
      const dueMs = member.lastHeard + askAfterMs - now;
      if (dueMs > 0) next = Math.min(next, dueMs);
      else begin(member, call);
    }
    for (const one of met.strangers(waiting).slice(0, askedMax)) begin(one, meet);
    if (next < Number.POSITIVE_INFINITY) timer = clock.after(next + 1, look);
  };

  return {
    /** For the heartbeats: whether others may ask for this process, which has heard itself in this way. */
    told: (): Pick<Member, 'answers'> => (line.isHeard() ? { answers: true } : {}),
    /** Called at each own beat. */
    look(): void {
      for (const [its, member] of gone) if (!isSilentSince(members, member)) gone.delete(its);
      met.forgetOthers(members);
      line.tryOut();
      look();
    },
    isGone: ({ incarnation: its, lastHeard }: Member): boolean => gone.get(its)?.lastHeard === lastHeard,
    stop(): void {
      timer?.cancel();
      line.stop();
    },
  };
}

/** Who answered us over our present connection. @param connectionNow its number */
function createMet(connectionNow: () => number) {
  const met = new Map<string, { readonly replica: string; readonly connection: number }>();
  const has = ({ incarnation }: Member): boolean => met.get(incarnation)?.connection === connectionNow();
  return {
    /** Returns what notes that this one answered the question that begins now. */
    start({ replica, incarnation }: Member): () => void {
      const connection = connectionNow();
      return () => void met.set(incarnation, { replica, connection });
    },
    has,
    strangers: (members: readonly Member[]) => members.filter((one) => !has(one)),
    forgetOthers(members: Pick<Members, 'process'>): void {
      for (const [its, { replica }] of met) if (!members.process(replica, its)) met.delete(its);
    },
  };
}

const isSilentSince = (members: Pick<Members, 'process'>, { replica, incarnation, lastHeard }: Member) =>
  members.process(replica, incarnation)?.lastHeard === lastHeard;

/** Where this process answers, and from where it asks others. */
function openLine({ bus, subjects, clock, replica, incarnation, members }: RollCallParts) {
  const over = new AbortController();
  const { signal } = over;
  let isHeard = false;
  let settledAt = Number.NEGATIVE_INFINITY;
  let connection = 0;
  let tries = 0;
  let tryAt = 0;
  const statuses = bus.onStatus(() => {
    settledAt = clock.monotonic() + settlingMs;
    connection++;
  });
  const subject = subjects.alive(replica, incarnation);
  const subscription = bus.subscribe(subject, ({ reply }) => {
    if (reply !== undefined) bus.publish(reply, nothing);
  });
  const ask = async (member: Pick<Member, 'replica' | 'incarnation'>) => {
    const subject = subjects.alive(member.replica, member.incarnation);
    try {
      await bus.request(subject, nothing, { timeoutMs: patienceMs, signal });
      return 'there';
    } catch (thrown) {
      return isNobody(thrown) ? 'nobody' : 'unknown';
    }
  };
  return {
    ask,
    /** Another number after each loss of the connection. */
    connection: () => connection,
    /** Whether NATS says that nobody listens, and no sign of life has come meanwhile. */
    async isAway(member: Member): Promise<boolean> {
      const answer = await ask(member);
      if (answer === 'there') members.notePulse(member.replica, member.incarnation);
      return answer === 'nobody' && isSilentSince(members, member);
    },
    /** Aborted when the process ends. */
    signal,
    /** Whether this process was heard to answer, and may still listen. */
    isHeard: () => isHeard && !bus.troubles().some(({ refused }) => refused && matcher(refused)(subject)),
    /** Asks for this process itself, until it was heard; less and less often, because NATS logs a refusal. */
    tryOut(): void {
      if (isHeard || clock.monotonic() < tryAt) return;
      tryAt = clock.monotonic() + backOffMs(tries++, tryMinMs, tryMaxMs);
      void ask({ replica, incarnation }).then((answer) => (isHeard ||= answer === 'there'));
    },
    /** Whether the connection to NATS has held for a while. */
    isSettled: () => clock.monotonic() >= settledAt,
    stop(): void {
      over.abort(new Error('the replica ends'));
      statuses.stop();
      subscription.stop();
    },
  };
}
