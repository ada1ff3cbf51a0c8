/**
 * What a replica can report about features that it has not loaded, whether others have them or nobody has.
 *
 * Promises: while some replica has a feature, only the owner of its actors answers for them. The remains of a
 * feature that nobody has are shown as stored, marked as such, and never changed.
 */
import { OrreryError } from '../../base/errors.ts';
import { type ActorId, type PartName, parseActorId } from '../../base/ids.ts';
import type { ActorSummary, ActorView, ListRequest, PartView } from '../../base/views.ts';
import type { StoredMessage } from '../../bus/bus.ts';
import { shardOf } from '../../bus/partition.ts';
import type { Chart } from '../../machines/chart.ts';
import { isInState } from '../../machines/state-names.ts';
import type { Engine } from '../engine.ts';
import { featureLimits } from '../feature-limits.ts';
import { type ActorRecord, isForgotten, lastErrorIn, unpackRecord } from '../host/records.ts';
import { stateText } from '../host/step.ts';
import { wantedEdition } from '../shards/editions.ts';

type Asked = Pick<Engine, 'directory' | 'ownership' | 'parts'>;

/** The parts of every feature that was ever loaded in this cluster and not forgotten. */
export function partsIn({ ownership, directory, parts: { subjects } }: Asked): readonly PartView[] {
  const members = directory.all();
  return [...ownership.fencesBySubject()].flatMap(([subject, { value, sequence }]) => {
    const part = subjects.parseFence(subject);
    if (typeof part !== 'string' || value.feature === undefined) return [];
    const { name: feature, kinds } = value.feature;
    const version = wantedEdition(feature, members)?.version ?? null;
    return [
      { part, feature, version, kinds, owner: version === null ? null : value.replica, fence: sequence },
    ];
  });
}

/**
 * Whether another replica answers for actors of this kind.
 *
 * @returns null: the kind is ours or unknown; a part: it contains the actor, and no replica has the feature
 */
export function elsewhereOf(engine: Asked, id: ActorId): 'another' | PartName | null {
  const { kind } = parseActorId(id);
  if (engine.parts.steppers.has(kind)) return null;
  const part = partsIn(engine).find(({ kinds }) => kinds.includes(kind));
  if (part !== undefined && part.version === null)
    return `${part.feature}-${shardOf(id) % featureLimits.parts}`;
  return isLoaded(engine, kind) ? 'another' : null;
}

const isLoaded = ({ directory }: Asked, kind: string) =>
  directory.all().some(({ editions }) => editions.some(({ kinds }) => kinds.includes(kind)));

/** Whether actors of this kind may exist: here, on another replica, or as remains. */
export function isKnownKind(engine: Asked, kind: string): boolean {
  const isLeft = partsIn(engine).some(({ kinds }) => kinds.includes(kind));
  return engine.parts.steppers.has(kind) || isLeft || isLoaded(engine, kind);
}

/** The charts of a kind, or of all kinds; null: not all of them are loaded here. */
export function chartsOf(engine: Asked, kind: string | undefined): readonly Chart[] | null {
  const { steppers } = engine.parts;
  const elsewhere = [
    ...partsIn(engine).flatMap(({ kinds }) => kinds),
    ...engine.directory.all().flatMap(({ editions }) => editions.flatMap(({ kinds }) => kinds)),
  ];
  const wanted = kind === undefined ? [...steppers.keys(), ...elsewhere] : [kind];
  if (!wanted.every((one) => steppers.has(one))) return null;
  return [...new Set(wanted)].flatMap((one) => steppers.get(one)?.chart ?? []);
}

/** The stored actors of features that nobody has loaded. */
export async function absentActors(engine: Asked, request: ListRequest): Promise<readonly ActorSummary[]> {
  const absent = partsIn(engine).filter(({ version }) => version === null);
  if (absent.length === 0) return [];
  const records = await recordsIn(
    engine,
    absent.map(({ part }) => part),
  );
  return records
    .map(({ id, part, record }) => summaryOfStored(id, part, record))
    .filter((actor) => isAsked(actor, request));
}

/** @throws OrreryError ACTOR_MISSING */
export async function absentActor(engine: Asked, id: ActorId, part: PartName): Promise<ActorView> {
  const { bus, subjects, clock } = engine.parts;
  const stored = await bus.last('state', subjects.state(part, id));
  const record = stored && stored.data.byteLength > 0 ? unpackRecord(stored.data, id) : null;
  if (record === null || isForgotten(record, clock.now()))
    throw new OrreryError('ACTOR_MISSING', `there is no actor ${id}`);
  const { snapshot, timers, outbox, machine, version, fence } = record;
  return {
    ...summaryOfStored(id, part, record),
    ...{ machine, machineVersion: version, fence, meaning: [], facts: [], recent: [], accepts: [] },
    context: snapshot.context,
    timers: timers.map(({ event, at }) => ({ event: event.type, at })),
    pending: outbox.map(({ key, effect }) => ({ key, type: effect.type })),
  };
}

const featureOf = (part: PartName) => part.slice(0, part.lastIndexOf('-'));

function summaryOfStored(id: ActorId, part: PartName, record: ActorRecord): ActorSummary {
  // Nobody knows when the last replica with the feature went: after the actor's last step.
  const text = `no replica has loaded the feature ${featureOf(part)}, since some time after this actor's last step; it stays as it is until one does`;
  return {
    id,
    state: stateText(record.snapshot.value),
    since: record.since,
    owner: '',
    shard: part,
    rev: record.rev,
    nextTimer: null,
    lastError: lastErrorIn(record),
    parked: true,
    reason: { text, health: 'wrong', since: record.at, next: null },
  };
}

function isAsked({ id, state, reason }: ActorSummary, asked: ListRequest): boolean {
  const { kind, namespace } = parseActorId(id);
  return (
    (asked.kind === undefined || asked.kind === kind) &&
    (asked.namespace === undefined || asked.namespace === namespace) &&
    (asked.after === undefined || id > asked.after) &&
    (asked.state === undefined || isInState(state, asked.state)) &&
    (asked.health === undefined || asked.health === reason.health)
  );
}

interface Stored {
  readonly id: ActorId;
  readonly part: PartName;
  readonly record: ActorRecord;
}

async function recordsIn({ parts }: Asked, names: readonly PartName[]): Promise<readonly Stored[]> {
  const { bus, subjects, clock } = parts;
  const found: StoredMessage[] = [];
  const following = await bus.follow('state', {
    subjects: names.map((part) => subjects.stateOfShard(part)),
    from: { kind: 'lastPerSubject' },
    onMessage: (message) => found.push(message),
  });
  await following.caughtUp;
  void following.stop();
  return found.flatMap(({ subject, data }) => {
    const parsed = subjects.parseState(subject);
    if (parsed === undefined || typeof parsed.shard !== 'string' || data.byteLength === 0) return [];
    try {
      const record = unpackRecord(data, parsed.id);
      return isForgotten(record, clock.now()) || record.gone
        ? []
        : [{ id: parsed.id, part: parsed.shard, record }];
    } catch {
      // An unreadable record parks its actor where the feature is loaded; here it is left out.
      return [];
    }
  });
}
