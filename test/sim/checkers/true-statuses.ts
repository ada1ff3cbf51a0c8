/**
 * "No condition disagrees with its actor for longer than its period", for every kind that writes a status:
 * what an object says is compared with what the last record of its actor knows, field by field.
 *
 * Judged only in quiet times: from the last fault that could keep the actor from reporting, be it the last of
 * all or before a lull. Each feature says which sentence of its page promises this, and within what time. A
 * request of a former owner that is served late, or sent by a process that was paused, overwrites a status as
 * anybody may; that is put right once it is noticed, or with the next report, or within the hour after which
 * all are repeated.
 */
import type { CheckerKind, Eye } from '../../../packages/testing/checkers/checker.ts';
import { createQuiet } from '../../../packages/testing/checkers/quiet-time.ts';
import type { Sighting } from '../../../packages/testing/simulation/sightings.ts';
import type { ActorRecord } from '../../../src/actors/host/records.ts';
import { equal } from '../../../src/base/equal.ts';
import type { ShardName } from '../../../src/base/ids.ts';
import type { KubeObject, KubeResource } from '../../../src/base/kube-port.ts';
import type { Fields } from '../api/patching.ts';
import { isReplica } from '../api/sim-api.ts';
import type { ApiStage } from '../features/feature-world.ts';
import { createSince } from './since.ts';

export interface StatusPromise {
  /** The promised sentence, with its page. */
  readonly name: string;
  readonly resource: KubeResource;
  /** The effect that writes it: while one is on its way, nobody knows what the object will say. */
  readonly effect: string;
  /** How long otherwise an object may differ from what its actor knows, ms. */
  readonly withinMs: number;
  /** How long it takes to notice that somebody overwrote it, ms; absent: it is not noticed. */
  readonly noticedMs?: number;
  /** The actor whose status it is; null: nobody's, so it need not say anything. */
  actorOf(object: KubeObject): string | null;
  /**
   * What the object has to say, given what its actor knows at this time; null: nothing yet. A function judges
   * what the object says; conditions are in `conditions`, by type.
   */
  wanted(record: ActorRecord, object: KubeObject, now: number): Wanted | null;
}

export interface Wanted {
  readonly conditions?: Readonly<Record<string, Fields>>;
  readonly [field: string]: unknown;
}

type Records = ReadonlyMap<string, ActorRecord>;

/** Objects whose status somebody wrote last who did not own their actor (any more), by uid. */
type Overwritten = Pick<ReadonlySet<string>, 'has'>;
type Api = Pick<ApiStage, 'api'>;

/** A field of an object's status that differs from its actor. */
interface Disagreement {
  readonly key: string;
  readonly text: string;
  /** How long it may last, ms. */
  readonly mayMs: number;
}

export const trueStatus = (stage: ApiStage, promise: StatusPromise): CheckerKind<ApiStage> => ({
  name: promise.name,
  create(eye) {
    const records = new Map<string, ActorRecord>();
    const since = createSince(eye.now);
    const quiet = createQuiet(eye, stage);
    const overwritten = createOverwritten(stage, promise);
    return (sighting) => {
      quiet.see(sighting);
      overwritten.see(sighting);
      if (sighting.kind === 'saved') records.set(sighting.id, sighting.record);
      if (sighting.kind === 'second') lookAt(eye, [...disagreements(stage, promise, records, overwritten)]);
    };
    function lookAt({ now, breach }: Eye<ApiStage>, found: readonly Disagreement[]): void {
      const from = since(found.map(({ key }) => key));
      for (const { key, text, mayMs } of found) {
        const lastedMs = now() - Math.max(from.get(key) ?? now(), quiet.since());
        if (lastedMs > mayMs) breach(`for ${Math.round(lastedMs / 1_000)} s ${text}`);
      }
    }
  },
});

export function createOverwritten({ api }: Api, { resource, actorOf }: StatusPromise) {
  const shards = new Map<string, ShardName>();
  const owners = new Map<ShardName, string | null>();
  const overwritten = new Set<string>();
  api.onWrite(({ resource: written, before, after, by }) => {
    if (written.plural !== resource.plural || after === null) return;
    const uid = after.metadata.uid ?? '';
    const shard = shards.get(actorOf(after) ?? '');
    const owner = shard === undefined ? null : (owners.get(shard) ?? null);
    if (owner === by) overwritten.delete(uid);
    else if (isReplica(by) ? owner !== null : !equal(before?.status, after.status)) overwritten.add(uid);
  });
  return {
    see(sighting: Sighting): void {
      if (sighting.kind === 'saved') shards.set(sighting.id, sighting.shard);
      if (sighting.kind === 'fence') owners.set(sighting.shard, sighting.replica);
    },
    has: (uid: string) => overwritten.has(uid),
  };
}

/** What objects say and their actors do not, at this moment. */
export function* disagreements(
  { api, clock }: Api & Pick<ApiStage, 'clock'>,
  promise: StatusPromise,
  records: Records,
  overwritten: Overwritten,
): Iterable<Disagreement> {
  for (const object of api.all(promise.resource)) {
    const { uid, namespace, name } = object.metadata;
    const id = promise.actorOf(object);
    if (id === null) continue;
    const record = records.get(id);
    const what = `${promise.resource.kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
    if (record === undefined || record.gone) {
      yield { key: `${uid} actor`, text: `${what} has no actor`, mayMs: promise.withinMs };
      continue;
    }
    const isOverwritten = overwritten.has(uid ?? '');
    if (isOverwritten && promise.noticedMs === undefined) continue;
    const mayMs = promise.withinMs + (isOverwritten ? (promise.noticedMs ?? 0) : 0);
    if (record.outbox.some(({ effect }) => effect.type === promise.effect)) continue;
    const wanted = promise.wanted(record, object, clock.now());
    if (wanted === null) continue;
    for (const [field, said, known] of differing(wanted, object.status))
      yield {
        key: `${uid} ${field}`,
        text: `${what} says ${field} ${shown(said)}, ${id} ${shown(known)}`,
        mayMs,
      };
  }
}

function* differing(wanted: Wanted, status: unknown): Iterable<readonly [string, unknown, unknown]> {
  const said = (status ?? {}) as Fields;
  const { conditions = {}, ...rest } = wanted;
  yield* fieldsOf('', rest, said);
  const all = (said.conditions ?? []) as readonly Fields[];
  for (const [type, fields] of Object.entries(conditions))
    yield* fieldsOf(`${type}.`, fields, all.find((one) => one.type === type) ?? {});
}

function* fieldsOf(
  prefix: string,
  wanted: Fields,
  said: Fields,
): Iterable<readonly [string, unknown, unknown]> {
  for (const [field, known] of Object.entries(wanted)) {
    const is = said[field] ?? null;
    const isTrue = typeof known === 'function' ? known(is) === true : equal(is, known);
    if (!isTrue) yield [`${prefix}${field}`, is, known];
  }
}

const shown = (value: unknown) =>
  typeof value === 'function'
    ? 'would not'
    : typeof value === 'string'
      ? `"${value}"`
      : JSON.stringify(value);
