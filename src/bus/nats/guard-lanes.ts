/**
 * Conditional writes on replicated streams: one at a time for each guarded subject.
 *
 * A replicated server refuses a write while another conditional write on the same subject is being replicated
 * ("wrong last sequence", 10164), even if the condition holds: it cannot check the second before the first is
 * stored (nats-server 2.12 to 2.15, `checkMsgHeadersPreClusteredProposal`). All saves of a shard depend on
 * its one fence. So writes that arrive while one is in progress wait, and are sent together as one atomic
 * batch.
 *
 * Promises: each caller learns the outcome of its own message; such a refusal never counts as a loss of
 * ownership and is retried; a caller that waited too long learns that nothing was stored. A stream with one
 * copy is as fast as without lanes: lanes are used from the first refusal of that kind on. Absent: the wire
 * format.
 */
import { type Clock, sleep } from '../../base/clock.ts';
import { hasCode } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Appended, AppendOptions, BatchMessage } from '../bus.ts';
import { isInProcess, unreachable } from '../bus-errors.ts';

type Append = (subject: string, data: Uint8Array, options?: AppendOptions) => Promise<Appended>;
type AppendAll = (
  messages: readonly BatchMessage[],
  options?: { readonly timeoutMs?: number },
) => Promise<Appended>;

export interface GuardLanesParts {
  readonly append: Append;
  readonly appendAll: AppendAll;
  readonly clock: Clock;
  /** Whether the streams are known to have several copies; if false, the first refusal shows it. */
  readonly isReplicated: boolean;
}

interface Waiting {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly options: AppendOptions;
  readonly since: number;
  readonly resolve: (appended: Appended) => void;
  readonly reject: (error: unknown) => void;
  /** Sent alone: a batch would not show the server's answer to this message. */
  isAlone: boolean;
}

/** The server takes 1,000. This many are stored within milliseconds, so nobody waits long behind a batch. */
const batchMessages = 128;
const batchBytes = 256 * 1024;
/** Pauses between tries while another replica's write is in progress, ms. */
const retryMs = { first: 2, most: 50 };

/** @returns the same two ways of writing, in lanes */
export function guardLanes(parts: GuardLanesParts): { append: Append; appendAll: AppendAll } {
  const { append, clock } = parts;
  const lanes = new Map<string, Waiting[]>();
  let isReplicated = parts.isReplicated;

  const enter = (entry: Waiting, guarded: string): void => {
    const lane = lanes.get(guarded);
    if (lane) return void lane.push(entry);
    lanes.set(guarded, [entry]);
    void run(guarded);
  };
  const run = async (guarded: string): Promise<void> => {
    for (let lane = lanes.get(guarded); lane && lane.length > 0; lane = lanes.get(guarded)) {
      await write(parts, takeFrom(lane), lane);
    }
    lanes.delete(guarded);
  };
  const inLane = (subject: string, data: Uint8Array, options: AppendOptions, guarded: string) =>
    new Promise<Appended>((resolve, reject) => {
      const isAlone = subject === guarded;
      enter({ subject, data, options, since: clock.monotonic(), resolve, reject, isAlone }, guarded);
    });

  return {
    append(subject, data, options = {}) {
      const guarded = options.guard?.subject;
      if (guarded === undefined) return append(subject, data, options);
      if (isReplicated) return inLane(subject, data, options, guarded);
      return append(subject, data, options).catch((error: unknown) => {
        if (!isInProcess(error)) throw error;
        isReplicated = true;
        return inLane(subject, data, options, guarded);
      });
    },
    appendAll: (messages, options) =>
      untilChecked(parts, options?.timeoutMs ?? limits.appendTimeoutMs, () =>
        parts.appendAll(messages, options),
      ),
  };
}

/** The first of the lane, and the messages behind it that can be sent in the same batch. */
function takeFrom(lane: Waiting[]): readonly Waiting[] {
  const [first] = lane;
  if (first === undefined) return [];
  let bytes = 0;
  let count = 0;
  for (const { isAlone, options, data } of lane) {
    bytes += data.length;
    const isOther = isAlone || options.guard?.sequence !== first.options.guard?.sequence;
    if (count > 0 && (isOther || first.isAlone || count === batchMessages || bytes > batchBytes)) break;
    count++;
  }
  return lane.splice(0, count);
}

/** Ends when each message is decided, or is back at the head of the lane. */
async function write(parts: GuardLanesParts, taken: readonly Waiting[], lane: Waiting[]): Promise<void> {
  const { clock } = parts;
  const late = (entry: Waiting) => clock.monotonic() - entry.since > waitMs(entry);
  for (const entry of taken.filter(late)) entry.reject(unreachable('too many conditional writes wait'));
  const entries = taken.filter((entry) => !late(entry));
  const [first] = entries;
  if (first === undefined) return;
  const timeoutMs = Math.max(1, timeoutOf(first) - (clock.monotonic() - first.since));
  try {
    const { sequence, duplicate } = await untilChecked(parts, waitMs(first), () =>
      entries.length === 1
        ? parts.append(first.subject, first.data, { ...first.options, timeoutMs })
        : parts.appendAll(entries.map(asMessage), { timeoutMs }),
    );
    // The server stores a batch contiguously.
    for (const [index, entry] of entries.entries())
      entry.resolve({ sequence: sequence - (entries.length - 1 - index), duplicate });
  } catch (error) {
    // The server refuses one of them, or already knows it. Each is sent alone to find out which.
    if (entries.length > 1 && hasCode(error, 'BUS_REFUSED')) {
      for (const entry of entries) entry.isAlone = true;
      lane.unshift(...entries);
    } else for (const entry of entries) entry.reject(error);
  }
}

const timeoutOf = ({ options }: Waiting) => options.timeoutMs ?? limits.appendTimeoutMs;
/** The other half is for the answer. */
const waitMs = (entry: Waiting) => timeoutOf(entry) / 2;

/** The first message's condition stands for all: they are stored together or not at all. */
function asMessage({ subject, data, options }: Waiting, index: number): BatchMessage {
  const { headers, msgId, ttlSeconds, guard } = options;
  return {
    subject,
    data,
    ...(headers === undefined ? {} : { headers }),
    ...(msgId === undefined ? {} : { msgId }),
    ...(ttlSeconds === undefined ? {} : { ttlSeconds }),
    ...(guard === undefined || index > 0 ? {} : { guard }),
  };
}

/** Retries while the server cannot check the condition; until then nothing is stored. */
async function untilChecked(
  { clock }: GuardLanesParts,
  forMs: number,
  attempt: () => Promise<Appended>,
): Promise<Appended> {
  const until = clock.monotonic() + forMs;
  for (let pauseMs = retryMs.first; ; pauseMs = Math.min(2 * pauseMs, retryMs.most)) {
    try {
      return await attempt();
    } catch (error) {
      if (!isInProcess(error) || clock.monotonic() + pauseMs > until) throw error;
    }
    await sleep(clock, pauseMs);
  }
}
