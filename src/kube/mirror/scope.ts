/**
 * One list/watch of a mirror: a namespace, or the whole cluster, run by the watch chart.
 *
 * Owns the chart's actor, and knows whether the last list took everything into account that features ask for.
 */
import { asError, hasCode } from '../../base/errors.ts';
import type { KubeObject, KubeResource } from '../../base/kube-port.ts';
import type { WatchContext } from '../../machines/watch/watch.ts';
import type { Inventory, Seen } from './inventory.ts';
import { apiVersionOf } from './merged-watch.ts';
import type { MirrorInterest } from './mirror-interest.ts';
import { startWatch, type WatchParts } from './start-watch.ts';
import type { ObjectSink } from './watch-runner.ts';

export interface ScopeParts extends WatchParts {
  readonly resource: KubeResource;
  /** null: the whole cluster. */
  readonly namespace: string | null;
  readonly interest: MirrorInterest;
  readonly inventory: Inventory;
  /** The kind was found by discovery; it can be removed from the cluster, and then has no objects. */
  readonly isOptional: boolean;
  /** A full list was processed. */
  readonly onListed: () => void;
  readonly onRestart: () => void;
}

export interface Scope {
  readonly namespace: string | null;
  /** A full list was processed. */
  readonly isListed: boolean;
  /** The last full list took into account everything that is asked for now. */
  readonly isCurrent: boolean;
  /** The digests' required content has changed: everything is read again. */
  relist(): void;
  stop(): void;
  status(): { readonly namespace: string | null; readonly state: string; readonly context: unknown };
}

/** Seen when this many changes of the digests' required content were known. */
interface SeenThen extends Seen {
  readonly epoch: number;
}

export function startScope(parts: ScopeParts): Scope {
  const { resource, namespace, interest, inventory, isOptional } = parts;
  const { onListed, onRestart } = parts;
  const name = interest.resource;
  let epoch = 0;
  let listedEpoch = -1;

  const sink: ObjectSink<SeenThen> = {
    read: (object) => ({ ...inventory.recognised(seen(object, interest)), epoch }),
    onReplace(objects) {
      listedEpoch = objects.reduce((oldest, object) => Math.min(oldest, object.epoch), epoch);
      inventory.replace(namespace, objects);
      onListed();
    },
    onEvent: (type, object) => (type === 'DELETED' ? inventory.remove(object) : inventory.put(object)),
  };
  const watch = startWatch(parts, {
    name,
    resource,
    namespace,
    sink,
    onRestart(code) {
      onRestart();
      if (isOptional && code === 'KUBE_NOT_FOUND') void emptyIfGone();
    },
  });
  const stopping = new AbortController();
  const attempt = () => (watch.snapshot().context as WatchContext).attempt;
  const emptyIfGone = async () => {
    const asked = attempt();
    const isAbsent = await isKindAbsent(parts, stopping.signal);
    // What was asked of the kind since says more; if it is not served, this question follows again.
    if (!isAbsent || attempt() !== asked) return;
    sink.onReplace([]);
    // It may only not be served for a moment. Then its objects are the same, and a watch tells no news.
    watch.send({ type: 'watch.relist' });
  };
  return {
    namespace,
    get isListed() {
      return listedEpoch >= 0;
    },
    get isCurrent() {
      return listedEpoch === epoch;
    },
    relist() {
      epoch += 1;
      watch.send({ type: 'watch.relist' });
    },
    stop() {
      stopping.abort(new Error('the mirror ended'));
      watch.stop();
    },
    status() {
      const { value, context } = watch.snapshot();
      return { namespace, state: String(value), context };
    },
  };
}

/** Whether the API server says that it serves no such kind. */
async function isKindAbsent({ kube, resource, interest, log }: ScopeParts, signal: AbortSignal) {
  try {
    await kube.resolve(apiVersionOf(resource), resource.kind, signal);
    return false;
  } catch (thrown) {
    if (hasCode(thrown, 'KUBE_NOT_FOUND') && !signal.aborted) return true;
    const facts = { resource: interest.resource, error: asError(thrown).message };
    log.debug(facts, 'whether the kind exists is not known');
    return false;
  }
}

function seen(object: KubeObject, interest: MirrorInterest): Seen {
  const { namespace = '', name } = object.metadata;
  return { namespace, name, digest: interest.digestOf(object) };
}
