/**
 * Answers candidates: `rpc.election.<ns>.<name>[.<candidate>].campaign|renew|resign` and `….get`
 * (docs/features/elections.md).
 *
 * Each request is a step of the election's actor, saved before it is answered; the answer says what is known
 * then and waits for nobody else. Only the owner of the election answers. While an election moves nobody
 * does: each replica keeps the requests that it leaves to others for a moment, and the new owner answers
 * those that came meanwhile (§5.8, late-requests.ts).
 */

import { leaveToOwner } from '../../actors/control/owner-elsewhere.ts';
import type { EngineView, FeatureParts } from '../../actors/feature.ts';
import { livingRecordOf } from '../../actors/host/cell.ts';
import type { MailboxItem, ShardRun, Taken } from '../../actors/host/owned.ts';
import { type ErrorCode, errorCodes, OrreryError } from '../../base/errors.ts';
import { type ActorId, actorId } from '../../base/ids.ts';
import type { PlainEvent } from '../../base/plain-event.ts';
import type { BusMessage } from '../../bus/bus.ts';
import { decode, encodeJson } from '../../bus/codec.ts';
import type { Endpoint } from '../../bus/rpc.ts';
import { causeBy, senderIn } from '../../bus/sender.ts';
import type { RpcCall } from '../../bus/subjects.ts';
import { isFull } from '../../machines/election/election-candidates.ts';
import type { ElectionContext } from '../../machines/election/election-context.ts';
import { campaignAnswer, renewAnswer, statusOf, whyNobody } from '../../machines/election/election-words.ts';
import { createLateRequests } from './late-requests.ts';

type ElectionCall = Extract<RpcCall, { call: 'election' }>;

export type RequestParts = Pick<FeatureParts, 'engine' | 'bus' | 'subjects' | 'clock'>;

export function answerCandidates(parts: RequestParts): {
  readonly requests: readonly Endpoint[];
  stop(): void;
} {
  const { engine, bus, subjects, clock } = parts;
  const late = createLateRequests({ bus, clock, onOpened: (callback) => engine.shards.onOpened(callback) });
  const handler = async (message: BusMessage): Promise<Uint8Array | undefined> => {
    const call = subjects.parseRpc(message.subject);
    if (call?.call !== 'election') {
      throw new OrreryError('MESSAGE_UNKNOWN_KIND', `there is no such request: ${message.subject}`);
    }
    const id = actorId('election', call.namespace, call.name);
    const answer = async (isLast: boolean) => {
      const run = engine.shards.runOf(id);
      if (run?.phase === 'active') return await answerAsOwner(parts, run, id, call, message);
      // A replica that lost the election during the request leaves the answer to the next owner.
      return isLast ? leaveToOwner(engine, id) : undefined;
    };
    const given = await answer(false).catch((thrown) => unlessMoving(thrown));
    if (given === undefined) late.keep(message, () => engine.shards.runOf(id)?.phase === 'active', answer);
    return given;
  };
  return {
    requests: [
      { name: 'election', subject: subjects.rpcElectionAll, handler },
      { name: 'candidate', subject: subjects.rpcCandidateAll, handler },
    ],
    stop: () => late.stop(),
  };
}

function unlessMoving(thrown: unknown): undefined {
  if (thrown instanceof OrreryError && thrown.code === 'NOT_OWNER') return undefined;
  throw thrown;
}

async function answerAsOwner(
  { engine, clock }: RequestParts,
  run: ShardRun,
  id: ActorId,
  call: ElectionCall,
  message: BusMessage,
): Promise<Uint8Array> {
  if (call.action === 'get') return encodeJson(statusOf(contextOf(run, id), clock.now()));
  const event = readEvent(engine, message, call, clock.now());
  refuseImpostor(run, id, event);
  refuseTooMany(run, id, event, clock.now());
  const cause = causeBy('rpc.election', senderIn(message.headers));
  const context = await step(engine, run, id, { event, cause });
  return encodeJson(answerOf(context, event, clock.now()));
}

/**
 * @throws OrreryError MESSAGE_UNREADABLE, MESSAGE_UNKNOWN_EVENT; CANDIDATE_REFUSED if body and subject name
 *   different candidates
 */
function readEvent(
  { parts }: EngineView,
  message: BusMessage,
  { action, candidate }: ElectionCall,
  receivedAt: number,
): PlainEvent {
  const body: unknown =
    message.data.byteLength === 0 ? {} : decode(message.data, message.headers['Content-Type']);
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new OrreryError('MESSAGE_UNREADABLE', `${action} takes an object: {"candidate": …}`);
  }
  const origin = { receivedAt, isTrusted: true };
  const named = candidate === null ? body : { candidate, ...body };
  const event = parts.admission.admit('election', { ...named, type: `election.${action}` }, origin);
  if (candidate === null) return event;
  if (event.candidate !== candidate) {
    const text = `the subject names candidate ${candidate}, the body ${String(event.candidate)}`;
    throw new OrreryError('CANDIDATE_REFUSED', text);
  }
  return { ...event, isBound: true };
}

/** Resolves when the step is saved, with the election's context after it. */
async function step(
  engine: EngineView,
  run: ShardRun,
  id: ActorId,
  item: Pick<MailboxItem, 'event' | 'cause'>,
): Promise<ElectionContext> {
  return new Promise((resolve, reject) => {
    const onTaken = (outcome: Taken) => {
      try {
        if (outcome.kind === 'refused') throw refusal(outcome, id);
        // At this moment the record is the one of this step.
        resolve(contextOf(run, id));
      } catch (error) {
        reject(error);
      }
    };
    engine.host.deliver(run, id, { ...item, onTaken });
  });
}

function refusal({ code, reason }: Extract<Taken, { kind: 'refused' }>, id: ActorId): OrreryError {
  if (code === 'ACTOR_MISSING') return missing(id);
  return new OrreryError(Object.hasOwn(errorCodes, code) ? (code as ErrorCode) : 'INVARIANT', reason);
}

/** @throws OrreryError ACTOR_MISSING */
function contextOf(run: ShardRun, id: ActorId): ElectionContext {
  const cell = run.cells.get(id);
  const record = cell ? livingRecordOf(cell) : null;
  if (record === null) throw missing(id);
  return record.snapshot.context as ElectionContext;
}

function missing(id: ActorId): OrreryError {
  const name = id.slice('election/'.length);
  return new OrreryError('ACTOR_MISSING', `there is no Election ${name}: create the resource, then campaign`);
}

/** The chart would ignore it (§5.6), so the requester is told why. */
function refuseImpostor(run: ShardRun, id: ActorId, { candidate, isBound }: PlainEvent): void {
  // A record of an earlier release lacks this field until its next step.
  const { bound = [] } = contextOf(run, id) as Partial<ElectionContext>;
  if (isBound === true || !bound.includes(String(candidate))) return;
  const text = `${String(candidate)} has a subject of its own and is heard only there: rpc.election.<namespace>.<name>.<candidate>.<verb>`;
  throw new OrreryError('CANDIDATE_REFUSED', text);
}

function refuseTooMany(run: ShardRun, id: ActorId, { type, candidate }: PlainEvent, now: number): void {
  if (type !== 'election.campaign' || !isFull(contextOf(run, id), String(candidate), now)) return;
  throw new OrreryError('BUSY', `${id} has as many candidates already as it can remember`);
}

function answerOf(context: ElectionContext, event: PlainEvent, now: number): object {
  const { candidate, term } = event as unknown as { candidate: string; term: number };
  const answer = campaignAnswer(context, candidate, now);
  if (event.type === 'election.renew') return renewAnswer(context, { candidate, term }, now);
  if (event.type === 'election.campaign') {
    const invalid = whyNobody(context);
    return invalid === null ? answer : { ...answer, reason: invalid };
  }
  const { leading, holder } = answer;
  const late = { reason: `term ${term} is not the term of the leader` };
  return { leading, holder, term: answer.term, ...(leading ? late : {}) };
}
