/**
 * `rpc.forget`: removes the remains of a kind whose feature no replica has loaded.
 *
 * Promises: while a replica has the feature, nothing is removed. A replica that loads it meanwhile wins: the
 * fences of the feature's parts are removed first, each on condition that nobody has claimed it. Removes
 * records and mail, and with the last kind of a feature the objects it mirrored.
 */
import { hasCode, OrreryError } from '../../base/errors.ts';
import { limits, shardCount } from '../../base/limits.ts';
import type { ForgetAnswer } from '../../base/views.ts';
import type { BusMessage, StreamName } from '../../bus/bus.ts';
import { contentType, decode, encodeJson } from '../../bus/codec.ts';
import { headerOf } from '../../bus/envelope.ts';
import type { Endpoint } from '../../bus/rpc.ts';
import { senderIn } from '../../bus/sender.ts';
import type { Engine } from '../engine.ts';
import type { FenceValue } from '../shards/fence-value.ts';
import { absentActors, partsIn } from './other-features.ts';

export function forgetEndpoints(engine: Engine): readonly Endpoint[] {
  const { subjects } = engine.parts;
  return [
    {
      name: 'forget',
      subject: subjects.rpcForget,
      queue: 'orrery',
      handler: async (message) => encodeJson(await forget(engine, message)),
    },
  ];
}

async function forget(engine: Engine, message: BusMessage): Promise<ForgetAnswer> {
  const { kind, dryRun = false } = readRequest(message);
  const feature = featureOf(engine, kind);
  const actors = (await absentActors(engine, { kind })).length;
  if (dryRun) return { kind, feature, actors, forgotten: false };
  const { log } = engine.parts;
  log.warn({ kind, feature, actors, by: senderIn(message.headers) ?? 'unknown' }, 'a kind is forgotten');
  const fences = fencesOf(engine, feature, kind);
  await retireFences(engine, feature, fences);
  await purge(engine, kind, fences);
  return { kind, feature, actors, forgotten: true };
}

function readRequest({ data, headers }: BusMessage): { readonly kind: string; readonly dryRun?: boolean } {
  const body = decode(data, headerOf(headers, contentType.header)) as {
    kind?: unknown;
    dryRun?: unknown;
  } | null;
  if (typeof body?.kind !== 'string')
    throw new OrreryError('MESSAGE_UNREADABLE', 'the request names no kind');
  return { kind: body.kind, dryRun: body.dryRun === true };
}

/** @throws OrreryError MESSAGE_NOT_ALLOWED | MESSAGE_UNKNOWN_KIND */
function featureOf(engine: Engine, kind: string): string {
  const holders = engine.directory
    .all()
    .filter(({ editions }) => editions.some(({ kinds }) => kinds.includes(kind)));
  if (engine.parts.homes.isOwn(kind))
    throw new OrreryError('MESSAGE_NOT_ALLOWED', `the kind ${kind} is one of the program's own`);
  if (holders.length > 0) {
    const names = holders.map(({ replica }) => replica).join(', ');
    throw new OrreryError('MESSAGE_NOT_ALLOWED', `the feature of the kind ${kind} is loaded by ${names}`);
  }
  const part = partsIn(engine).find(({ kinds }) => kinds.includes(kind));
  if (part === undefined)
    throw new OrreryError('MESSAGE_UNKNOWN_KIND', `nothing is stored of a kind ${kind}`);
  return part.feature;
}

interface Fence {
  readonly stream: StreamName;
  readonly subject: string;
  readonly value: FenceValue;
  readonly sequence: number;
  readonly rest: readonly string[];
}

function fencesOf(
  { ownership, parts: { subjects } }: Engine,
  feature: string,
  kind: string,
): readonly Fence[] {
  return [...ownership.fencesBySubject()].flatMap(([subject, { value, sequence }]) => {
    if (value.feature?.name !== feature) return [];
    const stream = subjects.parseFence(subject) === undefined ? 'world' : 'state';
    return [
      { stream, subject, value, sequence, rest: value.feature.kinds.filter((one) => one !== kind) } as const,
    ];
  });
}

/** @throws OrreryError MESSAGE_NOT_ALLOWED if a replica claims one of the parts meanwhile */
async function retireFences(engine: Engine, feature: string, fences: readonly Fence[]): Promise<void> {
  const { bus, clock } = engine.parts;
  for (const { subject, sequence, rest } of fences) {
    const base = { replica: null, incarnation: '', at: clock.now(), releasedAt: null };
    const value =
      rest.length === 0 ? { ...base, isRetired: true } : { ...base, feature: { name: feature, kinds: rest } };
    const ttl = rest.length === 0 ? { ttlSeconds: limits.worldTombstoneSeconds } : {};
    try {
      await bus.append(subject, encodeJson(value), { guard: { subject, sequence }, ...ttl });
    } catch (thrown) {
      if (!hasCode(thrown, 'BUS_CONFLICT')) throw thrown;
      throw new OrreryError('MESSAGE_NOT_ALLOWED', `a replica has just loaded the feature ${feature}`, {
        cause: thrown,
      });
    }
  }
}

async function purge(engine: Engine, kind: string, fences: readonly Fence[]): Promise<void> {
  const { bus, subjects } = engine.parts;
  for (const { stream, subject, rest } of fences) {
    const part = subjects.parseFence(subject);
    const mirror = subjects.parseWorldFence(subject);
    if (part !== undefined) await bus.purge('state', { subject: subjects.stateOfKind(part, kind) });
    if (stream === 'world' && mirror !== undefined && rest.length === 0)
      await bus.purge('world', { subject: subjects.worldOf(mirror) });
  }
  for (let shard = 0; shard < shardCount; shard++) {
    await bus.purge('mail', { subject: subjects.mailOfKind(shard, kind) });
    await bus.purge('mail', { subject: subjects.tellOfKind(shard, kind) });
  }
}
