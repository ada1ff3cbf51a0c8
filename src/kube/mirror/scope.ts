/**
 * One list/watch of a mirror: a namespace, or the whole cluster, run by the watch chart.
 *
 * Owns the chart's actor and the question whether what was listed was read with all RouteGates in mind.
 */
import { asError, hasCode } from '../../base/errors.ts';
import type { KubeObject, KubeResource } from '../api/port.ts';
import { digestOf } from './digest.ts';
import { apiVersionOf, type Interest, resourceName } from './interest.ts';
import type { Picture, Seen } from './picture.ts';
import { startWatch, type WatchParts } from './start-watch.ts';
import type { ObjectFeed } from './watch.ts';

export interface ScopeOptions<M> extends WatchParts<M> {
  readonly resource: KubeResource;
  /** null: the whole cluster. */
  readonly namespace: string | null;
  readonly interest: Interest;
  readonly picture: Picture;
  /** A full list was taken in. */
  readonly onListed: () => void;
  readonly onRestart: () => void;
}

export interface Scope {
  readonly namespace: string | null;
  /** A full list was taken in. */
  readonly isListed: boolean;
  /** The last full list was read with everything in mind that is asked for now. */
  readonly isCurrent: boolean;
  /** What digests must tell has changed: everything is read anew. */
  relist(): void;
  stop(): void;
  status(): { readonly namespace: string | null; readonly state: string; readonly context: unknown };
}

/** Seen while so many changes of what digests must tell were known. */
interface SeenThen extends Seen {
  readonly epoch: number;
}

export function startScope<M>(options: ScopeOptions<M>): Scope {
  const { kube, resource, namespace, interest, picture, log } = options;
  const { onListed, onRestart } = options;
  const name = resourceName(resource);
  let epoch = 0;
  let listedEpoch = -1;

  const feed: ObjectFeed<SeenThen> = {
    read: (object) => ({ ...seen(name, object, interest), epoch }),
    onReplace(objects) {
      listedEpoch = objects.reduce((oldest, object) => Math.min(oldest, object.epoch), epoch);
      picture.replace(namespace, objects);
      onListed();
    },
    onEvent: (type, object) => (type === 'DELETED' ? picture.remove(object) : picture.put(object)),
  };
  const watch = startWatch(options, {
    name,
    resource,
    namespace,
    feed,
    onRestart(code) {
      onRestart();
      if (code === 'KUBE_NOT_FOUND') void emptyIfGone();
    },
  });
  const stopping = new AbortController();
  /** A kind that RouteGates name can be taken out of the cluster; then it has no objects. */
  const emptyIfGone = async () => {
    if (!isGroupResource(name)) return;
    try {
      await kube.resolve(apiVersionOf(resource), resource.kind, stopping.signal);
    } catch (thrown) {
      if (hasCode(thrown, 'KUBE_NOT_FOUND') && !stopping.signal.aborted) feed.onReplace([]);
      else
        log.debug({ resource: name, error: asError(thrown).message }, 'whether the kind exists is not known');
    }
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

function seen(name: string, object: KubeObject, interest: Interest): Seen {
  const namespace = object.metadata.namespace ?? '';
  return {
    namespace,
    name: object.metadata.name,
    digest: digestOf(name, object, interest.digestsOf(namespace)),
  };
}

function isGroupResource(name: string): boolean {
  return !['pods', 'services', 'endpointslices', 'routegates', 'nodes'].includes(name);
}
