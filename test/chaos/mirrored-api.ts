/**
 * A real Kubernetes API in the form that the simulation's worlds and checkers know
 * (test/sim/api/seen-api.ts): the events of its watches, and writes that are passed on.
 *
 * Promises: objects and writes are reported in the order in which the API accepted them, across all
 * resources, each with its writer: `r0` for any replica, `world` for us, `backup` while everybody finds out
 * that Kubernetes was put back to an earlier state. Each is reported late for that
 * (`holdMs`). Our writes to one object follow each other. Absent: waiting; a write is seen once the watch
 * reports it, and refusals of the API are counted (`refused`).
 */
import { startInformer } from '../../packages/dev-cluster/controllers/informer.ts';
import type { DevParts } from '../../packages/dev-cluster/parts.ts';
import type { Timer } from '../../src/base/clock.ts';
import { asError, hasCode } from '../../src/base/errors.ts';
import type { KubeObject, KubePort, KubeResource } from '../../src/base/kube-port.ts';
import { backupName } from '../sim/api/backup.ts';
import type { ActedApi } from '../sim/api/seen-api.ts';
import type { ApiWrite } from '../sim/api/sim-api.ts';

export interface MirroredParts extends DevParts {
  readonly resources: readonly KubeResource[];
  /** The namespace that is watched, and its name in the world. */
  readonly namespace: string;
  readonly called: string;
  /** How much later one watch may report than another without breaking the order, ms. */
  readonly holdMs: number;
  /** Turns the world's objects into what the API accepts. */
  readonly dressed?: (resource: KubeResource, object: KubeObject) => KubeObject;
}

export interface MirroredApi extends ActedApi {
  readonly synced: Promise<unknown>;
  /** For the world's own programs: what they write through it counts as the world's. */
  readonly port: KubePort;
  /** What the API refused, and how often. */
  readonly refused: ReadonlyMap<string, number>;
  /**
   * Kubernetes is put back to an earlier state: versions may come again. Nobody is judged by what he writes.
   */
  restoring(): void;
  /** It was, and those who have to be started again were. */
  restored(): void;
  stop(): Promise<void>;
}

const ofReplicas = 'r0';
const ofWorld = 'world';
/** Within this time all have listed anew after Kubernetes was put back, ms. */
const restoringMs = 10_000;

export function mirrorApi(parts: MirroredParts): MirroredApi {
  const { kube, namespace, called, resources, dressed = (_, object) => object } = parts;
  const ending = new AbortController();
  const { signal } = ending;
  const copies = new Map<string, Map<string, KubeObject>>(resources.map((one) => [kindOf(one), new Map()]));
  const listeners: Array<(write: ApiWrite) => void> = [];
  const refused = new Map<string, number>();
  const own = ownWrites();

  const inWorld = (object: KubeObject): KubeObject => renamed(object, namespace, called);
  const outside = (object: KubeObject): KubeObject => renamed(object, called, namespace);

  let restoredUntil = 0;
  const isRestoring = () => parts.clock.monotonic() < restoredUntil;
  const tell: Tell = (resource, before, after, { by, at }) => {
    const copy = copies.get(kindOf(resource));
    const name = (after ?? before)?.metadata.name ?? '';
    if (after === null) copy?.delete(name);
    else copy?.set(name, inWorld(after));
    const isOurs = after === null ? own.isRemoved(before) : own.isOurs(after);
    const write = {
      ...{ resource, at, by: isOurs ? ofWorld : isRestoring() ? backupName : by },
      before: before && inWorld(before),
      after: after && inWorld(after),
    };
    for (const listener of listeners) listener(write);
  };
  const order = inOrder(parts);
  const informers = watchAll(parts, own, order, () => (isRestoring() ? backupName : ofReplicas), tell);
  const port = notedPort(kube, (resource, name, act) => own.write(keyOf(resource, name), act));
  return {
    synced: Promise.all(informers.map(({ synced }) => synced)),
    port,
    refused,
    find: (resource, _namespace, name) => copies.get(kindOf(resource))?.get(name) ?? null,
    all: (resource) => [...(copies.get(kindOf(resource))?.values() ?? [])],
    onWrite: (listener) => void listeners.push(listener),
    restoring() {
      restoredUntil = Number.POSITIVE_INFINITY;
      order.restart();
      own.forget();
    },
    restored() {
      restoredUntil = parts.clock.monotonic() + restoringMs;
    },
    ...writesOf({ ...parts, dressed, own, copies, refused, outside, signal }),
    async stop() {
      ending.abort();
      order.stop();
      await Promise.all(informers.map((informer) => informer.stop()));
    },
  };
}

/** @param seen who wrote it unless we did, and when the watch reported it */
type Tell = (
  resource: KubeResource,
  before: KubeObject | null,
  after: KubeObject | null,
  seen: { readonly by: string; readonly at: number },
) => void;

function watchAll(
  parts: MirroredParts,
  own: ReturnType<typeof ownWrites>,
  order: ReturnType<typeof inOrder>,
  writer: () => string,
  tell: Tell,
) {
  return parts.resources.map((resource) =>
    startInformer<KubeObject>({
      ...parts,
      resource,
      onChange(change) {
        // The writer is known once our writes in progress have been answered.
        const answered = own.answered(keyOf(resource, change.object.metadata.name));
        const { object } = change;
        const seen = { by: writer(), at: parts.clock.now() };
        if (change.type === 'gone')
          order.add(change.version, answered, () => tell(resource, object, null, seen));
        else
          order.add(object.metadata.resourceVersion, answered, () =>
            tell(resource, change.previous ?? null, object, seen),
          );
      },
    }),
  );
}

interface Writing extends Pick<MirroredParts, 'kube' | 'namespace' | 'called'> {
  readonly dressed: NonNullable<MirroredParts['dressed']>;
  readonly own: ReturnType<typeof ownWrites>;
  readonly copies: ReadonlyMap<string, ReadonlyMap<string, KubeObject>>;
  readonly refused: Map<string, number>;
  readonly outside: (object: KubeObject) => KubeObject;
  readonly signal: AbortSignal;
}

/** The world's writes, passed on. */
function writesOf(writing: Writing): Pick<ActedApi, 'create' | 'replace' | 'patch' | 'remove'> {
  const { kube, namespace, called, dressed, own, copies, refused, outside, signal } = writing;
  const place = (its: string | undefined) => (its === called ? namespace : its);
  const send = (resource: KubeResource, name: string, act: () => Promise<KubeObject | undefined>) =>
    own.write(keyOf(resource, name), async () => {
      try {
        return await act();
      } catch (thrown) {
        const missed = hasCode(thrown, 'KUBE_NOT_FOUND') || hasCode(thrown, 'KUBE_CONFLICT');
        if (!missed && !signal.aborted) count(refused, `${resource.plural}: ${asError(thrown).message}`);
        return undefined;
      }
    });
  return {
    create: (resource, object) =>
      send(resource, object.metadata.name, () =>
        kube.create(resource, dressed(resource, outside(object)), signal),
      ),
    replace: (resource, object) =>
      send(resource, object.metadata.name, () => kube.replace(resource, outside(object), signal)),
    patch: (resource, { namespace: its, name, subresource, body }) =>
      send(resource, name, () => {
        const patch = { namespace: place(its) ?? namespace, name, type: 'merge', body } as const;
        const isStatus = subresource === 'status';
        return kube.patch(resource, isStatus ? { ...patch, subresource } : patch, signal);
      }),
    remove(resource, its, name) {
      const found = copies.get(kindOf(resource))?.get(name);
      const { uid } = found?.metadata ?? {};
      void send(resource, name, async () => {
        own.remove(found);
        await kube.delete(resource, place(its), name, uid === undefined ? {} : { uid }, signal);
        return undefined;
      });
    },
  };
}

interface Told {
  readonly version: number;
  readonly at: number;
  isAnswered: boolean;
  readonly tell: () => void;
}

const tellEveryMs = 50;

/** Reports events in the order of their versions, each after waiting for what a slower watch may bring. */
function inOrder({ clock, holdMs }: Pick<MirroredParts, 'clock' | 'holdMs'>) {
  const waiting: Told[] = [];
  let latest = 0;
  let timer: Timer | undefined;
  const release = () => {
    const before = clock.monotonic() - holdMs;
    while (waiting[0]?.isAnswered && waiting[0].at <= before) waiting.shift()?.tell();
    timer = clock.after(tellEveryMs, release);
  };
  release();
  return {
    /** @param at the version; absent if a list showed the deletion */
    add(at: string | undefined, answered: Promise<unknown>, tell: () => void): void {
      const version = at === undefined ? latest : Number(at);
      latest = Math.max(latest, version);
      const told: Told = { version, at: clock.monotonic(), isAnswered: false, tell };
      const place = waiting.findIndex((one) => one.version > version);
      waiting.splice(place === -1 ? waiting.length : place, 0, told);
      void answered.then(() => {
        told.isAnswered = true;
      });
    },
    /** Versions begin again from a lower one: what waits is told first. */
    restart(): void {
      for (const one of waiting.splice(0)) one.tell();
      latest = 0;
    },
    stop: () => timer?.cancel(),
  };
}

/** Which writes are ours, and which of them have no answer yet. */
function ownWrites() {
  const under = new Map<string, Promise<unknown>>();
  const versions = new Set<string>();
  const removed = new Set<string>();
  return {
    /** Writes with the same key follow each other. */
    write<T extends KubeObject | undefined>(key: string, act: () => Promise<T>): Promise<T> {
      const before = under.get(key) ?? Promise.resolve();
      const done = before.then(act).then((object) => {
        const { uid = '', resourceVersion = '' } = object?.metadata ?? {};
        versions.add(`${uid} ${resourceVersion}`);
        return object;
      });
      const settled = done.catch(() => {});
      under.set(key, settled);
      void settled.then(() => under.get(key) === settled && under.delete(key));
      return done;
    },
    remove: (object: KubeObject | undefined) => void removed.add(object?.metadata.uid ?? ''),
    /** Their versions may come again for writes of others. */
    forget(): void {
      versions.clear();
      removed.clear();
    },
    answered: (key: string): Promise<unknown> => under.get(key) ?? Promise.resolve(),
    isOurs: ({ metadata: { uid = '', resourceVersion = '' } }: KubeObject) =>
      versions.has(`${uid} ${resourceVersion}`),
    isRemoved: (object: KubeObject | null) => removed.has(object?.metadata.uid ?? ''),
  };
}

type Noting = <T extends KubeObject>(
  resource: KubeResource,
  name: string,
  act: () => Promise<T>,
) => Promise<T>;

/** The port, with its writes noted. */
function notedPort(kube: KubePort, noting: Noting): KubePort {
  return {
    ...kube,
    create: (resource, object, signal) =>
      noting(resource, object.metadata.name, () => kube.create(resource, object, signal)),
    replace: (resource, object, signal) =>
      noting(resource, object.metadata.name, () => kube.replace(resource, object, signal)),
    patch: (resource, patch, signal) =>
      noting(resource, patch.name, () => kube.patch(resource, patch, signal)),
  };
}

function renamed(object: KubeObject, from: string, to: string): KubeObject {
  const { metadata } = object;
  return metadata.namespace === from ? { ...object, metadata: { ...metadata, namespace: to } } : object;
}

function count(counts: Map<string, number>, text: string): void {
  counts.set(text, (counts.get(text) ?? 0) + 1);
}

const kindOf = ({ group, plural }: KubeResource) => `${group}/${plural}`;
const keyOf = (resource: KubeResource, name: string) => `${kindOf(resource)} ${name}`;
