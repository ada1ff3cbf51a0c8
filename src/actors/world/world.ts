/**
 * The world picture: what this replica knows of Kubernetes, folded from the `world` stream.
 *
 * Owns: the latest digest of each object and how far the stream was read. Promises: entries are applied in
 * the stream's order; what is gone is gone; listeners are called once for each change, after it is applied.
 * Absent: joins (router.ts), where digests come from (kube/mirror.ts).
 */

import type { Clock } from '../../base/clock.ts';
import {
  type AnyDigest,
  asDigest,
  type ResourceName,
  type SyncedDigest,
  type WorldEntry,
} from '../../base/digests.ts';
import { asError } from '../../base/errors.ts';
import type { Log } from '../../base/log-port.ts';
import { type TraceContext, traceHeader } from '../../base/tracing.ts';
import type { Bus, StoredMessage } from '../../bus/bus.ts';
import { decode } from '../../bus/codec.ts';
import type { Subjects } from '../../bus/subjects.ts';
import { createStatements, type IsAlive } from './statements.ts';
import { createWorldReading } from './world-reading.ts';

export interface World {
  start(): Promise<void>;
  /** Entries of one resource that exist. */
  entries(resource: ResourceName): Iterable<WorldEntry>;
  get(resource: ResourceName, namespace: string, name: string): AnyDigest | null;
  /** Calls back after each change; `before` is what was known. */
  onChange(callback: (entry: WorldEntry, before: AnyDigest | null) => void): void;
  /**
   * What the mirror of that name states, while it counts (statements.ts): only then is an object that is
   * absent gone, and one that
   * stands there known to be. null: everybody waits.
   */
  statement(mirror: string): SyncedDigest | null;
  /** Calls back when a statement begins to count, and when one takes the place of another. */
  onStatement(callback: (mirror: string) => void): void;
  /** Somebody came or left: looks again whose statements count. */
  judge(): void;
  /** Resolves once the stream was read up to this sequence, and the picture is whole. */
  reached(sequence: number): Promise<void>;
  readonly sequence: number;
  /** The trace of the change that listeners are being told of; undefined where it has none. */
  readonly trace: TraceContext | undefined;
  /**
   * Whether things stood together so at some time. Not while the stream is being read after an interruption:
   * only the last message of each object is left in it, so that an object may look gone until its later
   * message is read.
   */
  readonly isWhole: boolean;
  /** Calls back each time that the picture is whole again. */
  onWhole(callback: () => void): void;
  /** Somebody else has heard that the stream was made anew: forgets everything and reads it. */
  beginAnew(): void;
  /** Calls back when the stream was made anew and everything is forgotten. */
  onForgotten(callback: () => void): void;
  stop(): void;
}

interface WorldParts {
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly clock: Clock;
  readonly log: Log;
  /** Counts what has not the form of a digest. */
  readonly onUnreadable?: () => void;
  /** Whose statements may count. */
  readonly isAlive: IsAlive;
}

export function createWorld(parts: WorldParts): World {
  const { subjects, log } = parts;
  const resources = new Map<ResourceName, Map<string, WorldEntry>>();
  const listeners: Array<(entry: WorldEntry, before: AnyDigest | null) => void> = [];
  const waiting: Array<{ sequence: number; resolve: () => void }> = [];
  const wholeListeners: Array<() => void> = [];
  const forgottenListeners: Array<() => void> = [];
  const statementListeners: Array<(mirror: string) => void> = [];
  const statements = createStatements(parts.isAlive, (mirror) => {
    for (const listener of statementListeners) listener(mirror);
  });
  let sequence = 0;
  let isWhole = false;
  let trace: TraceContext | undefined;

  const fold = (message: StoredMessage) => {
    const parsed = subjects.parseWorld(message.subject);
    if (parsed) {
      trace = message.headers[traceHeader];
      try {
        const digest = digestOf(message);
        apply({ ...parsed, digest });
        if (parsed.resource === '_synced') {
          statements.noteStatement(parsed.name, message.sequence, asDigest<SyncedDigest>(digest, 'synced'));
        }
      } catch (error) {
        parts.onUnreadable?.();
        const facts = { subject: message.subject, error: asError(error).message };
        log.error(facts, 'a part of the world cannot be read');
      }
    }
    const fenced = parsed ? undefined : subjects.parseWorldFence(message.subject);
    if (fenced !== undefined) statements.noteFence(fenced, message.sequence, message.data);
    sequence = Math.max(sequence, message.sequence);
  };
  const beWhole = () => {
    const wasWhole = isWhole;
    isWhole = true;
    if (!wasWhole) for (const listener of wholeListeners) listener();
    for (let at = waiting.length - 1; at >= 0; at--) {
      const one = waiting[at];
      if (!one || one.sequence > sequence) continue;
      waiting.splice(at, 1);
      one.resolve();
    }
  };
  const apply = (entry: WorldEntry) => {
    let objects = resources.get(entry.resource);
    if (!objects) {
      objects = new Map();
      resources.set(entry.resource, objects);
    }
    const key = `${entry.namespace}/${entry.name}`;
    const before = objects.get(key)?.digest ?? null;
    if (entry.digest !== null) objects.set(key, entry);
    else if (objects.delete(key) && objects.size === 0) resources.delete(entry.resource);
    if (before === null && entry.digest === null) return;
    for (const listener of listeners) listener(entry, before);
  };
  const forget = (isGhost: (entry: WorldEntry) => boolean) => {
    for (const objects of resources.values()) {
      for (const entry of [...objects.values()]) if (isGhost(entry)) apply({ ...entry, digest: null });
    }
  };
  const onAnother = () => {
    isWhole = false;
    sequence = 0;
    statements.forget();
    forget(() => true);
    for (const listener of forgottenListeners) listener();
  };
  const reading = createWorldReading(parts, {
    fold,
    beWhole,
    notWhole: () => {
      isWhole = false;
    },
    onRead: (subjectsRead) =>
      forget(({ resource, namespace, name }) => !subjectsRead.has(subjects.world(resource, namespace, name))),
    onAnother,
  });

  return {
    async start() {
      await reading.start();
      // A stream without a message is whole, too.
      isWhole ||= sequence === 0;
    },
    entries: (resource) => resources.get(resource)?.values() ?? [],
    get: (resource, namespace, name) => resources.get(resource)?.get(`${namespace}/${name}`)?.digest ?? null,
    onChange: (callback) => void listeners.push(callback),
    statement: (mirror) => statements.counting(mirror),
    onStatement: (callback) => void statementListeners.push(callback),
    judge: () => statements.judge(),
    reached: (wanted) =>
      isWhole && sequence >= wanted
        ? Promise.resolve()
        : new Promise((resolve) => {
            waiting.push({ sequence: wanted, resolve });
          }),
    get sequence() {
      return sequence;
    },
    get trace() {
      return trace;
    },
    get isWhole() {
      return isWhole;
    },
    onWhole: (callback) => void wholeListeners.push(callback),
    beginAnew() {
      onAnother();
      reading.anew();
    },
    onForgotten: (callback) => void forgottenListeners.push(callback),
    stop: () => reading.stop(),
  };
}

/** @throws Error for what is no digest: joins and charts rely on these fields */
function digestOf(message: StoredMessage): AnyDigest | null {
  if (message.data.byteLength === 0) return null;
  const value = decode(message.data) as (Partial<AnyDigest> & { readonly deleted?: boolean }) | null;
  if (value === null || value.deleted === true) return null;
  const { kind, uid = '', labels = {} } = value as { kind: unknown; uid?: unknown; labels?: unknown };
  const isDigest = typeof kind === 'string' && typeof uid === 'string' && isPlain(labels);
  if (!isDigest || !isPlain(value)) throw new Error('it has not the form of a digest');
  return value as AnyDigest;
}

const isPlain = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
