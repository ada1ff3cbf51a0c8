/**
 * Creates the streams of a cluster on a NATS server, or updates them.
 *
 * Every replica may run this at the same time, and again after every reconnect: creating a stream that exists
 * in the same form is no error. Settings only grow (stream-growth.ts). A setting that cannot be changed – the
 * number of shards – is compared, and a difference is refused.
 */
import { OrreryError } from '../../base/errors.ts';
import type { StreamName } from '../bus.ts';
import { unreachable } from '../bus-errors.ts';
import type { StreamDefinition, StreamDefinitions } from '../streams.ts';
import { isJetStreamError, type JetStreamApi, jetStreamCode } from './jetstream-api.ts';
import { formatKey, grown, streamsFormat } from './stream-growth.ts';

const nanosPerMs = 1e6;
/** Metadata key: the number of shards for which the cluster was created. */
const shardsKey = 'orrery.shards';

/** What the server says of a stream. */
interface StreamInfo {
  readonly config: Record<string, unknown>;
  readonly created: string;
  readonly domain?: string;
  readonly state: { readonly last_seq: number };
}

export interface Ensured {
  /** It did not exist. */
  readonly isNew: boolean;
  /** Distinguishes it from others of the same name. */
  readonly created: string;
  readonly lastSequence: number;
  /** What it refuses, and NATS cannot undo, in words; null: nothing. */
  readonly remark: string | null;
  /** That of its JetStream; null: none. */
  readonly domain: string | null;
}

/**
 * The settings of each stream, as JSON, when they were last found to be as wanted: they are compared in
 * detail only after a change.
 */
export type SettingsFound = Map<string, string>;

/**
 * @param replicas copies of each stream, 1 or 3
 * @param firstFence where a stream with fences that does not exist begins to count
 * @returns the streams as they are now
 * @throws OrreryError BUS_UNREACHABLE (try again) | BUS_REFUSED (a different number of shards, or the server
 *   refuses)
 */
export async function ensureStreams(
  api: JetStreamApi,
  definitions: StreamDefinitions,
  replicas: number,
  firstFence: number,
  known: SettingsFound = new Map(),
): Promise<ReadonlyMap<StreamName, Ensured>> {
  const names = Object.keys(definitions) as StreamName[];
  const ensure = (name: StreamName) => ensureStream(api, definitions[name], replicas, firstFence, known);
  return new Map(await Promise.all(names.map(async (name) => [name, await ensure(name)] as const)));
}

/**
 * Whether there is no state stream, and what makes one here would make a second one.
 *
 * @param isTaken whether some JetStream has it
 */
export async function wouldBeSecond(
  api: JetStreamApi,
  { name }: StreamDefinition,
  isTaken: () => Promise<boolean>,
): Promise<boolean> {
  const isAbsent = async () => (await infoOf(api, name)) === undefined;
  // Another replica may just have made it.
  return (await isAbsent()) && (await isTaken()) && (await isAbsent());
}

async function ensureStream(
  api: JetStreamApi,
  definition: StreamDefinition,
  replicas: number,
  firstFence: number,
  known: SettingsFound,
): Promise<Ensured> {
  const stood = await infoOf(api, definition.name);
  const text = JSON.stringify(stood?.config);
  if (stood !== undefined && known.get(definition.name) === text) return ensured(stood, false);
  const wanted = streamConfig(definition, replicas);
  const first = definition.fences ? { first_seq: firstFence } : {};
  const info = stood ?? (await create(api, definition.name, { ...wanted, ...first }));
  const found = info.config;
  checkIsUsable(definition, found);
  const current = grown(found, wanted);
  if (!isSame(found, current)) await api(`STREAM.UPDATE.${definition.name}`, current);
  else if (stood !== undefined) known.set(definition.name, text);
  return ensured(info, stood === undefined);
}

const ensured = ({ created, state, domain, config }: StreamInfo, isNew: boolean): Ensured => ({
  ...{ isNew, created },
  lastSequence: state.last_seq,
  remark: remarkOn(config),
  domain: domain ?? null,
});

/** Nothing is lost by it, and somebody may have wanted it. */
function remarkOn({ name, deny_purge, deny_delete }: StreamInfo['config']): string | null {
  const denied = Object.entries({ deny_purge, deny_delete }).flatMap(([key, value]) =>
    value === true ? [key] : [],
  );
  if (denied.length === 0) return null;
  return `stream ${String(name)} has ${denied.join(' and ')}, so what is taken, dropped or forgotten stays in it, until it is too old or the stream is full and refuses what is new. NATS cannot undo that: delete the stream at a quiet moment, it is made again without what waits in it`;
}

async function create(api: JetStreamApi, name: string, config: object): Promise<StreamInfo> {
  try {
    const made = (await api(`STREAM.CREATE.${name}`, config)) as unknown as StreamInfo;
    // What it says of a new stream is without its domain.
    return (await infoOf(api, name)) ?? made;
  } catch (error) {
    if (!isJetStreamError(error, jetStreamCode.streamNameInUse)) throw error;
    // Another replica, perhaps of another release, was faster. In a cluster no server finds its stream at
    // first.
    const found = await infoOf(api, name);
    if (found) return found;
    throw unreachable(`another replica is making stream ${name}`, error);
  }
}

async function infoOf(api: JetStreamApi, name: string): Promise<StreamInfo | undefined> {
  try {
    return (await api(`STREAM.INFO.${name}`)) as unknown as StreamInfo;
  } catch (error) {
    if (isJetStreamError(error, jetStreamCode.streamNotFound)) return undefined;
    throw error;
  }
}

function checkIsUsable({ name, shards }: StreamDefinition, found: Record<string, unknown>): void {
  const madeFor = (found.metadata as Record<string, string> | undefined)?.[shardsKey];
  const refuse = (text: string) => {
    const facts = { stream: name, found: madeFor, wanted: shards };
    throw new OrreryError('BUS_REFUSED', `stream ${name} ${text}`, { facts });
  };
  if (found.sealed === true)
    refuse('is sealed: it takes nothing, and NATS cannot undo that. Back it up, then delete it');
  if (found.mirror !== undefined)
    refuse(
      'is a mirror of another stream, and Orrery works with its own: delete it, or remove its mirror if it is to be used',
    );
  if (madeFor === undefined)
    refuse(
      `has no metadata ${shardsKey}. If it is Orrery's and lost them: nats stream edit ${name} --metadata ${shardsKey}=${shards}; if somebody else made it, delete it`,
    );
  if (madeFor !== String(shards))
    refuse(
      `was made for ${madeFor} shards, this Orrery works with ${shards}: the number is fixed when a cluster is created`,
    );
}

/** A definition in the server's format. */
function streamConfig(definition: StreamDefinition, replicas: number) {
  const { transform } = definition;
  return {
    name: definition.name,
    description: definition.description,
    subjects: definition.subjects,
    ...(transform ? { subject_transform: { src: transform.source, dest: transform.destination } } : {}),
    retention: 'limits',
    storage: 'file',
    no_ack: false,
    num_replicas: replicas,
    discard: definition.whenFull === 'refuse' ? 'new' : 'old',
    max_msgs: definition.messagesMax || -1,
    max_msgs_per_subject: definition.messagesPerSubjectMax || -1,
    max_bytes: -1,
    max_age: definition.maxAgeMs * nanosPerMs,
    max_msg_size: definition.messageBytesMax,
    duplicate_window: definition.duplicateWindowMs * nanosPerMs,
    allow_direct: true,
    allow_msg_ttl: definition.messageTtl,
    ...(definition.batches ? { allow_atomic: true } : {}),
    metadata: { [shardsKey]: String(definition.shards), [formatKey]: String(streamsFormat) },
  };
}

/** Deep equality of API values; an absent field equals one that is false or empty. */
function isSame(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null)
    return (a || undefined) === (b || undefined);
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  return [...new Set([...Object.keys(left), ...Object.keys(right)])].every((key) =>
    isSame(left[key], right[key]),
  );
}
