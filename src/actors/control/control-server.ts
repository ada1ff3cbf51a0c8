/**
 * Answers the request subjects on behalf of one replica.
 *
 * `rpc.get` and `rpc.send` reach every replica, and only the owner answers. `rpc.list` and `rpc.shards` reach
 * one replica, which asks the others (`peer.…`) and answers for the whole cluster. Inspection costs nothing
 * while nobody asks.
 */

import type { Clock } from '../../base/clock.ts';
import { asError, OrreryError } from '../../base/errors.ts';
import type { ActorId, ShardName } from '../../base/ids.ts';
import { ledShard, limits, shardCount } from '../../base/limits.ts';
import { traceHeader } from '../../base/tracing.ts';
import type {
  ActorSummary,
  GetRequest,
  ListAnswer,
  ListRequest,
  SendAnswer,
  ShardsView,
  ShardView,
} from '../../base/views.ts';
import type { Bus, BusMessage, Subscription } from '../../bus/bus.ts';
import { decode, encodeJson } from '../../bus/codec.ts';
import { headerOf, readMessage } from '../../bus/envelope.ts';
import { type Endpoint, isAnswerable, serve } from '../../bus/rpc.ts';
import { causeBy, isByHand, senderIn } from '../../bus/sender.ts';
import type { Subjects } from '../../bus/subjects.ts';
import type { Chart } from '../../machines/chart.ts';
import { isInState } from '../../machines/state-names.ts';
import type { Engine } from '../engine.ts';
import { kindOf } from '../host/cell.ts';
import type { Cell, Taken } from '../host/owned.ts';
import { knownId } from '../shards/message-ids.ts';
import { ledHolding } from '../shards/shard-run.ts';
import { livingIn, shownRecordOf, stateOf, summaryOf, viewOf } from './actor-views.ts';
import { deadLetterEndpoints } from './dead-letter-desk.ts';
import { forgetEndpoints } from './forget.ts';
import { readListRequest, readPeerRequest } from './list-request.ts';
import { newestRows } from './newest-rows.ts';
import { absentActor, absentActors, chartsOf, elsewhereOf, isKnownKind, partsIn } from './other-features.ts';
import { leaveToOwner } from './owner-elsewhere.ts';
import { healthOf, reasonWithout } from './reason.ts';
import { createSentLog, type Sent } from './sent-log.ts';
import { pageEndpoints } from './stored-pages.ts';

interface PeerList {
  readonly shards: readonly ShardName[];
  readonly actors: readonly ActorSummary[];
}

export type ControlServer = ReturnType<typeof serveControl>;

export function serveControl(parts: {
  readonly engine: Engine;
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly clock: Clock;
  readonly replica: string;
  readonly release: string;
  /** Request subjects of features. */
  readonly requests: readonly Endpoint[];
}) {
  const { bus, subjects, replica, release } = parts;
  const server = new Control(parts);
  const ownerOnly = (name: string, subject: string, handler: Endpoint['handler']): Endpoint => ({
    name,
    subject,
    handler,
  });
  const anyone = (name: string, subject: string, handler: Endpoint['handler']): Endpoint => ({
    name,
    subject,
    handler,
    queue: 'orrery',
  });
  const service = serve(bus, {
    clock: parts.clock,
    name: 'orrery',
    version: release,
    id: `${replica}-${parts.engine.directory.incarnation}`,
    endpoints: [
      ownerOnly('get', subjects.rpcGetAll, (message) => server.get(message)),
      ownerOnly('send', subjects.rpcSendAll, (message) => server.send(message)),
      anyone('list', subjects.rpcList, (message) => server.list(message)),
      anyone('shards', subjects.rpcShards, () => server.shards()),
      ...pageEndpoints(parts),
      ...forgetEndpoints(parts.engine),
      ...deadLetterEndpoints({ ...parts, ...parts.engine.parts }),
      ...parts.requests,
    ],
  });
  const peers: Subscription[] = [
    bus.subscribe(subjects.peer('list'), (message) => {
      const request = isAnswerable(message.reply) ? readPeerRequest(message) : null;
      if (request !== null) bus.publish(message.reply, server.peerList(request));
    }),
    bus.subscribe(subjects.peer('shards'), (message) => {
      if (isAnswerable(message.reply)) bus.publish(message.reply, server.peerShards());
    }),
  ];
  return {
    stop(): void {
      service.stop();
      for (const peer of peers) peer.stop();
    },
  };
}

class Control {
  readonly #engine: Engine;
  readonly #bus: Bus;
  readonly #subjects: Subjects;
  readonly #clock: Clock;
  readonly #replica: string;
  readonly #noteSent: (sent: Sent) => void;

  constructor({ engine, bus, subjects, clock, replica }: Parameters<typeof serveControl>[0]) {
    this.#noteSent = createSentLog(engine.parts.log, clock);
    this.#engine = engine;
    this.#bus = bus;
    this.#subjects = subjects;
    this.#clock = clock;
    this.#replica = replica;
  }

  /**
   * @returns undefined: another replica owns the actor and will answer
   * @throws OrreryError ACTOR_MISSING
   */
  async get(message: BusMessage): Promise<Uint8Array | undefined> {
    const call = this.#subjects.parseRpc(message.subject);
    if (call?.call !== 'get') throw new OrreryError('MESSAGE_UNKNOWN_KIND', 'no actor has such a name');
    const elsewhere = elsewhereOf(this.#engine, call.id);
    if (elsewhere === 'another') return undefined;
    if (elsewhere !== null) return encodeJson(await absentActor(this.#engine, call.id, elsewhere));
    const run = this.#engine.shards.runOf(call.id);
    if (run?.phase !== 'active') return leaveToOwner(this.#engine, call.id);
    const cell = run.cells.get(call.id);
    const record = cell ? shownRecordOf(cell) : null;
    if (!cell || (record === null && stateOf(cell) === '')) throw missing(call.id);
    const stepper = this.#engine.parts.steppers.get(kindOf(cell));
    const { admission } = this.#engine.parts;
    const parts = { bus: this.#bus, subjects: this.#subjects, clock: this.#clock, stepper, admission };
    const { history = true } = readBody<GetRequest>(message);
    return encodeJson(await viewOf(parts, cell, record, { owner: this.#replica, history }));
  }

  async send(message: BusMessage): Promise<Uint8Array | undefined> {
    const call = this.#subjects.parseRpc(message.subject);
    if (call?.call !== 'send') throw new OrreryError('MESSAGE_UNKNOWN_KIND', 'no actor has such a name');
    if (elsewhereOf(this.#engine, call.id) === 'another') return undefined;
    const run = this.#engine.shards.runOf(call.id);
    if (run?.phase !== 'active') return leaveToOwner(this.#engine, call.id);
    const by = senderIn(message.headers);
    let type = '';
    const note = (outcome: string) =>
      this.#noteSent({ actor: call.id, event: type, by: by ?? 'unknown', outcome });
    try {
      const { event, id: messageId, cause } = readMessage(message);
      type = event.type;
      const kind = call.id.slice(0, call.id.indexOf('/'));
      const admitted = this.#engine.parts.admission.admit(kind, event, {
        receivedAt: this.#clock.now(),
        isTrusted: true,
        isByHand: isByHand(message.headers),
      });
      const outcome = await new Promise<Taken>((onTaken) => {
        const trace = headerOf(message.headers, traceHeader);
        const named = causeBy(cause ?? messageId ?? 'rpc.send', by);
        const known = messageId === undefined ? {} : { messageId: knownId(messageId, false) };
        this.#engine.host.deliver(run, call.id, { event: admitted, cause: named, onTaken, trace, ...known });
      });
      note(outcome.kind === 'refused' ? outcome.code : outcome.kind);
      return encodeJson(sendAnswer(outcome));
    } catch (error) {
      const code = error instanceof OrreryError ? error.code : 'INVARIANT';
      note(code);
      return encodeJson({ accepted: false, code, reason: asError(error).message } satisfies SendAnswer);
    }
  }

  /** @throws OrreryError MESSAGE_UNREADABLE */
  async list(message: BusMessage): Promise<Uint8Array> {
    const request = readListRequest(message, {
      isKind: (kind) => isKnownKind(this.#engine, kind),
      chartsOf: (kind) => chartsOf(this.#engine, kind),
    });
    const limit = Math.min(request.limit ?? limits.listActors, limits.listActors);
    const [answers, absent] = await Promise.all([
      this.#ask<PeerList>('list', { ...request, limit: limit + 1 }),
      absentActors(this.#engine, request),
    ]);
    const actors = newestRows([...answers.flatMap((answer) => answer.actors.map(withReason)), ...absent]);
    actors.sort((a, b) => (a.id < b.id ? -1 : 1));
    const page = actors.slice(0, limit);
    const answered = new Set(answers.flatMap((answer) => answer.shards));
    return encodeJson({
      actors: page,
      next: actors.length > limit ? (page.at(-1)?.id ?? null) : null,
      missingShards: [
        ...Array.from({ length: shardCount }, (_, shard) => shard),
        ...partsIn(this.#engine).flatMap(({ part, version }) => (version === null ? [] : [part])),
      ].filter((shard) => !answered.has(shard)),
    } satisfies ListAnswer);
  }

  async shards(): Promise<Uint8Array> {
    const views = (
      await this.#ask<{ shards: readonly ShardName[]; views: readonly ShardView[] }>('shards', {})
    ).flatMap(({ views }) => views);
    const known = new Map(views.map((view) => [view.shard, view]));
    const replicas = this.#engine.directory.all().map((member) => ({
      replica: member.replica,
      incarnation: member.incarnation,
      release: member.release,
      shards: member.shards,
      actors: member.actors,
      stepsPerSecond: member.stepsPerSecond,
      lastSeen: member.lastSeen,
    }));
    const shards = this.#engine.ownership.views().flatMap(({ name, owner, fence }) => {
      const shard = shardNumber(name);
      if (shard === null) return [];
      return [
        known.get(shard) ?? { shard, owner, fence, state: owner === null ? 'unowned' : 'silent', actors: 0 },
      ];
    });
    const parts = partsIn(this.#engine);
    return encodeJson({ replicas, shards, ...(parts.length === 0 ? {} : { parts }) } satisfies ShardsView);
  }

  peerList(request: ListRequest): Uint8Array {
    const shards: ShardName[] = [];
    const found: Cell[] = [];
    for (const run of this.#engine.shards.open()) {
      if (run.phase !== 'active') continue;
      shards.push(run.shard);
      for (const cell of run.cells.values()) {
        if (isListed(cell, request) && this.#hasHealth(cell, request)) found.push(cell);
      }
    }
    found.sort((a, b) => (a.id < b.id ? -1 : 1));
    const at = this.#clock.now();
    // Only records that are shown are unpacked; the selection uses what cells know at rest.
    const actors = found.slice(0, request.limit).map((cell) =>
      summaryOf(cell, shownRecordOf(cell), {
        owner: this.#replica,
        chart: this.#chartOf(cell),
        at,
        facts: request.facts === true,
      }),
    );
    return encodeJson({ shards, actors } satisfies PeerList);
  }

  #chartOf(cell: Cell): Chart | undefined {
    return this.#engine.parts.steppers.get(kindOf(cell))?.chart;
  }

  #hasHealth(cell: Cell, { health }: ListRequest): boolean {
    return health === undefined || healthOf(cell, this.#chartOf(cell)) === health;
  }

  peerShards(): Uint8Array {
    const views: ShardView[] = [];
    const shards: ShardName[] = [];
    for (const run of this.#engine.shards.open()) {
      if (run.phase === 'closed') continue;
      shards.push(run.shard);
      const { shard, fence, phase: state } = run;
      if (typeof shard === 'string' || shard === ledShard) continue;
      views.push({ shard, owner: this.#replica, fence, state, actors: livingIn(run) });
    }
    return encodeJson({ shards, views });
  }

  /** Asks every replica, and waits until all shards are answered for, or for a moment. */
  async #ask<T extends { readonly shards: readonly ShardName[] }>(what: string, body: object): Promise<T[]> {
    const read = (answers: readonly BusMessage[]) => answers.map(({ data }) => decode(data) as T);
    const answers = await this.#bus.requestMany(this.#subjects.peer(what), encodeJson(body), {
      timeoutMs: limits.requestTimeoutMs / 2,
      enough: (sofar) => new Set(read(sofar).flatMap(({ shards }) => shards)).size >= this.#ownedMax(),
    });
    return read(answers);
  }

  /** The number of shards that can be answered for: one more if any replica leads releases. */
  #ownedMax(): number {
    const releases = this.#engine.ownership.views().find(({ name }) => name === ledHolding);
    const owned = partsIn(this.#engine).filter(({ owner }) => owner !== null).length;
    return (releases?.owner == null ? shardCount : shardCount + 1) + owned;
  }
}

/** A replica of an earlier release sends no reason. */
function withReason(summary: Omit<ActorSummary, 'reason'> & Partial<ActorSummary>): ActorSummary {
  return { ...summary, reason: summary.reason ?? reasonWithout(summary) };
}

function sendAnswer(outcome: Taken): SendAnswer {
  if (outcome.kind === 'refused') return { accepted: false, code: outcome.code, reason: outcome.reason };
  return { accepted: true, transition: outcome.kind === 'stepped' ? outcome.transition : null };
}

function missing(id: ActorId): OrreryError {
  return new OrreryError('ACTOR_MISSING', `there is no actor ${id}`);
}

function shardNumber(holding: string): number | null {
  return holding.startsWith('shard/') ? Number(holding.slice('shard/'.length)) : null;
}

/** A request of another replica, which has read it, or one without anything that could be wrong. */
function readBody<T extends object>(message: BusMessage): Partial<T> {
  if (message.data.byteLength === 0) return {};
  const body = decode(message.data, message.headers['Content-Type']);
  return typeof body === 'object' && body !== null ? body : {};
}

function isListed(cell: Cell, { kind, namespace, after, state }: ListRequest): boolean {
  const [idKind, idNamespace] = cell.id.split('/', 2);
  if (kind !== undefined && idKind !== kind) return false;
  if (namespace !== undefined && idNamespace !== namespace) return false;
  if (after !== undefined && cell.id <= after) return false;
  const is = stateOf(cell);
  return is !== '' && (state === undefined || isInState(is, state));
}
