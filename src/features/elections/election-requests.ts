/**
 * Answers candidates: `rpc.election.<ns>.<name>.campaign|renew|resign|get` (docs/features/elections.md).
 *
 * Each request is a step of the election's actor, saved before it is answered; the answer tells what is known then and waits for
 * nobody else. Only the owner of the election answers.
 */

import { leaveToOwner } from '../../actors/control/owner-elsewhere.ts';
import type { EngineView } from '../../actors/feature.ts';
import { livingRecordOf } from '../../actors/host/cell.ts';
import type { ShardRun, Taken } from '../../actors/host/owned.ts';
import type { Clock } from '../../base/clock.ts';
import { type ErrorCode, errorCodes, OrreryError } from '../../base/errors.ts';
import { type ActorId, actorId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { PlainEvent } from '../../base/plain-event.ts';
import type { BusMessage } from '../../bus/bus.ts';
import { decode, encodeJson } from '../../bus/codec.ts';
import type { Endpoint } from '../../bus/rpc.ts';
import type { ElectionAction, Subjects } from '../../bus/subjects.ts';
import type { ElectionContext } from '../../machines/election/election-context.ts';
import { campaignAnswer, renewAnswer, statusOf } from '../../machines/election/election-words.ts';

export function electionEndpoint(parts: {
  readonly engine: EngineView;
  readonly subjects: Subjects;
  readonly clock: Clock;
}): Endpoint {
  const { engine, subjects, clock } = parts;
  return {
    name: 'election',
    subject: subjects.rpcElectionAll,
    async handler(message) {
      const call = subjects.parseRpc(message.subject);
      if (call?.call !== 'election') {
        throw new OrreryError('MESSAGE_UNKNOWN_KIND', `there is no such request: ${message.subject}`);
      }
      const id = actorId('election', call.namespace, call.name);
      const run = engine.shards.runOf(id);
      if (run?.phase !== 'active') return leaveToOwner(engine, id);
      if (call.action === 'get') return encodeJson(statusOf(contextOf(run, id), clock.now()));
      const event = readEvent(engine, message, call.action, clock.now());
      refuseTooMany(run, id, event);
      const context = await step(engine, run, id, event);
      return encodeJson(answerOf(context, event, clock.now()));
    },
  };
}

function readEvent(
  { ports }: EngineView,
  message: BusMessage,
  action: Exclude<ElectionAction, 'get'>,
  receivedAt: number,
): PlainEvent {
  const body: unknown = decode(message.data, message.headers['Content-Type']);
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new OrreryError('MESSAGE_UNREADABLE', `${action} takes an object: {"candidate": …}`);
  }
  const origin = { receivedAt, isTrusted: true };
  return ports.admission.admit('election', { ...body, type: `election.${action}` }, origin);
}

/** The step is saved when this resolves, with what the election knows after it. */
async function step(
  engine: EngineView,
  run: ShardRun,
  id: ActorId,
  event: PlainEvent,
): Promise<ElectionContext> {
  return new Promise((resolve, reject) => {
    const onTaken = (outcome: Taken) => {
      try {
        if (outcome.kind === 'refused') throw refusal(outcome, id);
        // At this very moment the record is the one of this step.
        resolve(contextOf(run, id));
      } catch (error) {
        reject(error);
      }
    };
    engine.host.deliver(run, id, { event, cause: 'rpc.election', onTaken });
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
  return new OrreryError('ACTOR_MISSING', `there is no Election ${name}: make the resource, then campaign`);
}

function refuseTooMany(run: ShardRun, id: ActorId, { type, candidate }: PlainEvent): void {
  if (type !== 'election.campaign') return;
  const { candidates } = contextOf(run, id);
  const isKnown = Object.hasOwn(candidates, String(candidate));
  if (isKnown || Object.keys(candidates).length < limits.electionCandidates) return;
  throw new OrreryError('BUSY', `${id} has ${limits.electionCandidates} candidates already`);
}

function answerOf(context: ElectionContext, event: PlainEvent, now: number): object {
  const { candidate, term } = event as unknown as { candidate: string; term: number };
  const answer = campaignAnswer(context, candidate, now);
  if (event.type === 'election.renew') return renewAnswer(context, { candidate, term }, now);
  if (event.type === 'election.campaign') {
    const invalid = context.facts?.invalid ?? null;
    return invalid === null ? answer : { ...answer, reason: invalid };
  }
  const { leading, holder } = answer;
  const late = { reason: `term ${term} is not the term of the leader` };
  return { leading, holder, term: answer.term, ...(leading ? late : {}) };
}
