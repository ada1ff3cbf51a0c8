/**
 * Keeps the streams of a cluster in existence for as long as the connection lives.
 *
 * Checks them after each reconnect, because the server may be another one with an empty disk, and every few
 * seconds, because somebody may have deleted one, and a replica of an older release removes settings that it
 * does not know at each of its reconnects. One that is gone is created again. The fences of a stream that is
 * created count from the present time in microseconds: no stream stores messages faster than that, so an
 * earlier fence is never taken for a new one. That holds as well where NATS lost its disk and a replica that
 * just starts creates the streams, while one that was stopped still has its fences of before.
 */
import { type Clock, sleep } from '../../base/clock.ts';
import { asError } from '../../base/errors.ts';
import type { Ambient } from '../../base/log-port.ts';
import { jittered } from '../../base/random.ts';
import type { StreamName } from '../bus.ts';
import { unreachable } from '../bus-errors.ts';
import type { StreamDefinitions } from '../streams.ts';
import type { Troubles } from '../troubles.ts';
import { type Ensured, ensureStreams, type SettingsFound, wouldBeSecond } from './ensure-streams.ts';
import type { JetStreamApi } from './jetstream-api.ts';
import { type KeepTrying, keepTrying } from './keep-trying.ts';
import type { Takers } from './server/second-answers.ts';
import { isTakenSomewhere, numberOfTakers, secondStore } from './server/second-store.ts';
import type { Wire } from './wire.ts';
import type { WireRequests } from './wire-requests.ts';

/** One small request for each stream; messages sent to a deleted stream in the meantime are not stored. */
const lookMs = 2_000;

export interface KeepStreams extends Ambient {
  readonly wire: Wire;
  readonly api: JetStreamApi;
  readonly requests: WireRequests;
  readonly streams: StreamDefinitions;
  /** Copies of each. */
  readonly replicas: number;
  readonly signal?: AbortSignal | undefined;
  readonly troubles: Troubles;
  /**
   * Somebody created a stream again. Its consumers are gone; the server does not say so.
   *
   * @param stream its name on the server
   */
  readonly onAnew: (stream: string) => void;
  /** Kept up to date. */
  readonly takers: Takers;
}

const cannotCheck =
  'the streams of this cluster cannot be made or checked; trying until they can. The reason says what NATS lacks or refuses';

/** Resolves when the streams are there. @throws OrreryError as `ensureStreams` and `keepTrying` do */
export async function keepStreams(parts: KeepStreams): Promise<void> {
  const { wire, api, streams, replicas, troubles, clock, log } = parts;
  const attempt = {
    ...parts,
    facts: {},
    trouble: cannotCheck,
    success: 'the streams are as they should be now',
    onReason(reason: string | null) {
      if (reason === null) troubles.over('streams');
      else troubles.note('streams', `the streams cannot be made or checked: ${reason}`);
    },
  };
  const ensure = () => ensureStreams(api, streams, replicas, firstFence(clock));
  // A replica that runs has had its streams, and makes them again wherever it finds none.
  const begin = async () => {
    await refuseSecondStore(parts);
    return ensure();
  };
  const known = new Map(await keepTrying(attempt, begin));
  noteFound(parts, known);
  /** One check at a time. It ends with the connection; the next connection starts another. */
  let looking: AbortController | undefined;
  const lookAgain = (isNew: boolean): void => {
    const mine = new AbortController();
    looking = mine;
    lookAfter({ ...parts, known, signal: mine.signal }, attempt, isNew).catch((error) => {
      if (!mine.signal.aborted)
        log.error({ error: asError(error) }, 'the streams are no longer looked after');
    });
  };
  wire.onStatus((status) => {
    looking?.abort(unreachable(status));
    if (status === 'connected') lookAgain(true);
  });
  if (wire.status === 'connected') lookAgain(false);
}

/** @throws OrreryError BUS_UNREACHABLE (try again) */
async function refuseSecondStore({ api, requests, streams }: KeepStreams): Promise<void> {
  const { state } = streams;
  const isTaken = () => isTakenSomewhere(requests, state);
  if (await wouldBeSecond(api, state, isTaken)) throw secondStore(state);
}

/** What the streams refuse, and the domains in which they are. */
function noteFound(parts: KeepStreams, known: ReadonlyMap<StreamName, Ensured>): void {
  const { streams, takers } = parts;
  for (const [name, { remark }] of known)
    noteMinor(parts, `settings of ${streams[name].name}`, remark, 'a stream refuses to be cleared');
  takers.domains = new Set(Array.from(known.values(), ({ domain }) => domain));
}

/** A note while it lasts, and one line in the log. @param reason null: it is over, or never was */
function noteMinor({ troubles, log }: KeepStreams, what: string, reason: string | null, text: string): void {
  if (reason === null) return void troubles.over(what);
  if (troubles.all().every((one) => one.what !== what)) log.error({ reason }, text);
  troubles.note(what, reason, { isMinor: true });
}

const takenTwice = (name: string) =>
  `another JetStream takes what is written to ${name}, too, and answers: a leaf node has a JetStream of its own, and each of the two has such a stream. Turn JetStream off on the leaf node for this account, and delete the streams that replicas are not to use (docs/operating.md)`;

/** Others may come and go at any time: a leaf node, or its streams. */
async function countTakers(parts: KeepStreams): Promise<void> {
  const { requests, streams, takers } = parts;
  const { state } = streams;
  const number = await numberOfTakers(requests, state);
  // No answer says nothing.
  if (number === 0) return;
  takers.areTwo = number > 1;
  const reason = takers.areTwo ? takenTwice(state.name) : null;
  noteMinor(parts, 'takers', reason, 'two JetStreams take what is written');
}

/**
 * More than any stream stores between two looks: at 10,000 a second, a quarter of an hour. It counts where a
 * stream is lost within ten seconds of its making, or our clock is behind that of its maker. More would lead
 * further ahead of the time, and a replica that just starts knows nothing but the time.
 */
const fencesSkipped = 10_000_000;

/** @param known the streams as they were last seen */
function firstFence(clock: Clock, known: Iterable<Ensured> = []): number {
  const last = Math.max(0, ...Array.from(known, ({ lastSequence }) => lastSequence));
  return Math.max(clock.now() * 1_000, last + fencesSkipped);
}

const wentBack =
  'a stream lost its newest messages: NATS went back to an older state of its disk. What was saved since is gone there; actors go on from memory, but whoever takes a shard over reads the older records (docs/disaster-recovery.md)';

/** Runs until the connection is lost. */
async function lookAfter(
  parts: KeepStreams & { readonly known: Map<StreamName, Ensured>; readonly signal: AbortSignal },
  attempt: Omit<KeepTrying, 'signal'>,
  isNew: boolean,
): Promise<void> {
  const { api, streams, replicas, clock, random, log, signal, known, onAnew } = parts;
  const settings: SettingsFound = new Map();
  /** Streams that had lost messages at the last look. */
  const behind = new Set<StreamName>();
  const ensure = () => ensureStreams(api, streams, replicas, firstFence(clock, known.values()), settings);
  const look = async () => {
    const found = [...(await keepTrying({ ...attempt, signal, isEndless: true }, ensure))];
    for (const [name, now] of found) {
      const before = known.get(name);
      const facts = { stream: streams[name].name, last: now.lastSequence, before: before?.lastSequence };
      const isAnother = before?.created !== now.created;
      const isBehind = !isAnother && now.lastSequence < before.lastSequence;
      // For a moment, a leader may know less than the one before it (follow-place.ts).
      if (isBehind && !behind.delete(name)) {
        behind.add(name);
        continue;
      }
      behind.delete(name);
      if (isAnother) onAnew(facts.stream);
      else if (isBehind) log.error(facts, wentBack);
      known.set(name, now);
    }
    noteFound(parts, known);
    void countTakers(parts);
    return found.flatMap(([name, one]) => (one.isNew ? [name] : []));
  };
  if (isNew) await look();
  for (;;) {
    await sleep(clock, jittered(lookMs, 0.3, random), signal);
    const missing = await look();
    if (missing.length > 0)
      log.error({ streams: missing }, 'a stream had disappeared while NATS runs; it was recreated, empty');
  }
}
