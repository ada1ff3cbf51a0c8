/**
 * The world picture: what this replica knows of Kubernetes, built from the `world` stream.
 *
 * Owns the latest digest of each object, and how far the stream was read. Promises: entries are applied in
 * the stream's order; removed objects are gone; listeners are called once for each change, after it is
 * applied. Absent: joins (router.ts), and the origin of digests (kube/mirror/mirror.ts).
 */

import {
  type AnyDigest,
  asDigest,
  type ResourceName,
  type SyncedDigest,
  type WorldEntry,
} from '../../base/digests.ts';
import { shareEqual } from '../../base/equal.ts';
import { asError } from '../../base/errors.ts';
import { type TraceContext, traceHeader } from '../../base/tracing.ts';
import type { StoredMessage } from '../../bus/bus.ts';
import { decode } from '../../bus/codec.ts';
import { createReaching } from '../../bus/reaching.ts';
import { detached } from '../detached.ts';
import type { HostParts } from '../host/host-parts.ts';
import { createStatements, type IsAlive, type Statements } from './statements.ts';
import { WorldReading } from './world-reading.ts';

interface WorldParts extends Pick<HostParts, 'bus' | 'subjects' | 'clock' | 'log'> {
  /** Counts malformed digests. */
  readonly onUnreadable?: () => void;
  /** Whose statements may count. */
  readonly isAlive: IsAlive;
}

/** How deep entries are compared with their neighbours: down to the fields of an endpoint of a slice. */
const digestLevels = 6;

const partUnreadable =
  'a part of the world cannot be read: actors act on what was known of the object before, until it is written again. Look for who else writes to this subject; if nobody does, finish a running upgrade or report it';

export class World {
  readonly #parts: WorldParts;
  readonly #resources = new Map<ResourceName, Map<string, WorldEntry>>();
  /** The entry that came last, by resource. */
  readonly #latest = new Map<ResourceName, WorldEntry>();
  readonly #onChange: Array<(entry: WorldEntry, before: AnyDigest | null) => void> = [];
  readonly #onStatement: Array<(mirror: string) => void> = [];
  readonly #onWhole: Array<() => void> = [];
  readonly #onForgotten: Array<() => void> = [];
  readonly #statements: Statements;
  readonly #reaching = createReaching();
  readonly #reading: WorldReading;
  #sequence = 0;
  #isWhole = false;
  #trace: TraceContext | undefined;

  constructor(parts: WorldParts) {
    this.#parts = parts;
    this.#statements = createStatements(parts.isAlive, (mirror) => {
      for (const listener of this.#onStatement) listener(mirror);
    });
    this.#reading = new WorldReading(parts, {
      fold: (message) => this.#fold(message),
      beWhole: () => this.#beWhole(),
      notWhole: () => {
        this.#isWhole = false;
      },
      onRead: (found) => {
        const { subjects } = parts;
        this.#forget(
          ({ resource, namespace, name }) => !found.has(subjects.world(resource, namespace, name)),
        );
      },
      onAnother: () => this.#beginAnew(),
    });
  }

  async start(): Promise<void> {
    await this.#reading.start();
    // An empty stream is consistent, too.
    this.#isWhole ||= this.#sequence === 0;
  }

  stop(): void {
    this.#reading.stop();
  }

  entries(resource: ResourceName): Iterable<WorldEntry> {
    return this.#resources.get(resource)?.values() ?? [];
  }

  get(resource: ResourceName, namespace: string, name: string): AnyDigest | null {
    return this.#resources.get(resource)?.get(`${namespace}/${name}`)?.digest ?? null;
  }

  /** Calls back after each change; `before` is the previous digest. */
  onChange(callback: (entry: WorldEntry, before: AnyDigest | null) => void): void {
    this.#onChange.push(callback);
  }

  /**
   * The statement of the mirror with this name, while it counts (statements.ts): only then are absent objects
   * gone and present ones known to exist. null: everybody waits.
   */
  statement(mirror: string): SyncedDigest | null {
    return this.#statements.counting(mirror);
  }

  /** Calls back when a statement starts to count, and when another replaces it. */
  onStatement(callback: (mirror: string) => void): void {
    this.#onStatement.push(callback);
  }

  /** A replica came or left: checks again whose statements count. */
  judge(): void {
    this.#statements.judge();
  }

  /** Resolves once the stream was read up to this sequence and the picture is consistent. */
  async reached(sequence: number): Promise<void> {
    if (!this.#isWhole || this.#sequence < sequence) await this.#reaching.wait(sequence);
  }

  get sequence(): number {
    return this.#sequence;
  }

  /** How many objects are known to be in the stream; 0 while the picture is not consistent. */
  get size(): number {
    if (!this.#isWhole) return 0;
    let size = 0;
    // Resources that begin with "_" are no mirror's, and may expire.
    for (const [resource, objects] of this.#resources) if (!resource.startsWith('_')) size += objects.size;
    return size;
  }

  /** The trace of the change that listeners are being told of; undefined if it has none. */
  get trace(): TraceContext | undefined {
    return this.#trace;
  }

  /**
   * Whether the picture is a state that existed at some time. It is not while the stream is read after an
   * interruption: only the last message of each object is left in it, so an object may look gone until its
   * later message is read.
   */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Resolves once the picture is consistent; rejects with the signal. */
  async whole(signal: AbortSignal): Promise<void> {
    if (!this.#isWhole) await this.#reaching.wait(0, signal);
  }

  /** Calls back each time the picture becomes consistent again. */
  onWhole(callback: () => void): void {
    this.#onWhole.push(callback);
  }

  /** Another part noticed that the stream was recreated: clears the picture and reads the stream. */
  beginAnew(): void {
    this.#beginAnew();
    this.#reading.anew();
  }

  /** Calls back when the stream was recreated and the picture is cleared. */
  onForgotten(callback: () => void): void {
    this.#onForgotten.push(callback);
  }

  #fold(message: StoredMessage): void {
    const { subjects } = this.#parts;
    const parsed = subjects.parseWorld(message.subject);
    const fenced = parsed ? undefined : subjects.parseWorldFence(message.subject);
    if (parsed) this.#foldObject(message, parsed);
    if (fenced !== undefined) this.#foldFence(fenced, message);
    this.#sequence = Math.max(this.#sequence, message.sequence);
  }

  /** With a mirror that was retired, its objects are removed, without a mark in the stream. */
  #foldFence(mirror: string, { sequence, data }: StoredMessage): void {
    if (this.#statements.noteFence(mirror, sequence, data)) return;
    this.#forget(({ resource }) => resource === mirror);
  }

  #foldObject(message: StoredMessage, place: Omit<WorldEntry, 'digest'>): void {
    this.#trace = message.headers[traceHeader];
    try {
      const digest = digestOf(message);
      const [namespace, name] = [detached(place.namespace), detached(place.name)];
      this.#apply({ ...place, namespace, name, digest });
      if (place.resource !== '_synced') return;
      this.#statements.noteStatement(place.name, message.sequence, asDigest<SyncedDigest>(digest, 'synced'));
    } catch (error) {
      this.#parts.onUnreadable?.();
      const facts = { subject: message.subject, error: asError(error).message };
      this.#parts.log.error(facts, partUnreadable);
    }
  }

  #apply(entry: WorldEntry): void {
    const { resource, namespace, name, digest } = entry;
    const objects = this.#resources.get(resource) ?? new Map<string, WorldEntry>();
    this.#resources.set(resource, objects);
    const key = detached(`${namespace}/${name}`);
    const before = objects.get(key)?.digest ?? null;
    if (digest !== null) objects.set(key, this.#sharing(entry, objects.get(key)));
    else objects.delete(key);
    if (objects.size === 0) this.#resources.delete(resource);
    if (before === null && digest === null) return;
    for (const listener of this.#onChange) listener(entry, before);
  }

  /** What an object has in common with its earlier version, or with its neighbour, is held once. */
  #sharing(entry: WorldEntry, before: WorldEntry | undefined): WorldEntry {
    const known = before ?? this.#latest.get(entry.resource);
    const shared = known === undefined ? entry : shareEqual(entry, known, digestLevels);
    this.#latest.set(entry.resource, shared);
    return shared;
  }

  #beWhole(): void {
    const wasWhole = this.#isWhole;
    this.#isWhole = true;
    if (!wasWhole) for (const listener of this.#onWhole) listener();
    this.#reaching.reached(this.#sequence);
  }

  #forget(isGhost: (entry: WorldEntry) => boolean): void {
    for (const objects of this.#resources.values()) {
      for (const entry of [...objects.values()]) if (isGhost(entry)) this.#apply({ ...entry, digest: null });
    }
  }

  #beginAnew(): void {
    this.#isWhole = false;
    this.#sequence = 0;
    this.#statements.forget();
    this.#forget(() => true);
    for (const listener of this.#onForgotten) listener();
  }
}

/** @throws Error for anything but a digest, because joins and charts rely on its fields */
function digestOf(message: StoredMessage): AnyDigest | null {
  if (message.data.byteLength === 0) return null;
  const value = decode(message.data) as (Partial<AnyDigest> & { readonly deleted?: boolean }) | null;
  if (value === null || value.deleted === true) return null;
  const { kind, uid = '', labels = {} } = value as { kind: unknown; uid?: unknown; labels?: unknown };
  const isDigest = typeof kind === 'string' && typeof uid === 'string' && isPlain(labels);
  if (!isDigest || !isPlain(value)) throw new Error('it is not a digest');
  return value as AnyDigest;
}

const isPlain = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
