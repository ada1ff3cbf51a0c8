/**
 * What a leader does to the cluster during one leadership: runs rounds, and watches their objects.
 *
 * Owns the watches of the bundle's kinds (labelled objects only), and the state of each object after it was
 * applied. Any deviation is reported once as drift; the next round repairs it. `stop` ends everything.
 */

import { asError } from '../../base/errors.ts';
import type { KubeObject, KubeResource } from '../../base/kube-port.ts';
import { limits } from '../../base/limits.ts';
import { isOlderVersion } from '../../base/resource-version.ts';
import { startWatch, type WatchParts } from '../../kube/mirror/start-watch.ts';
import type { RoundSummary } from '../../machines/release/release-events.ts';
import type { KindName } from '../../machines/release/release-table.ts';
import { type Bundle, type BundleObject, objectName } from './bundle.ts';
import { BundleRound, wantedIn } from './bundle-round.ts';
import { patientKube } from './patient-kube.ts';
import { isAppliedByUs, selectorOf } from './release-prune.ts';

/** Fields of a manifest that say nothing about the object's content. */
const silentFields = new Set(['apiVersion', 'kind', 'metadata', 'status']);

export interface ReleaseWorkParts extends WatchParts {
  readonly bundle: Bundle;
  /** Called for an object that differs from the bundle: `ConfigMap shop/a`. */
  readonly onDrift: (object: string) => void;
}

interface WatchedParts extends ReleaseWorkParts {
  /** Called for an object of the bundle that differs from it, before `onDrift`. */
  readonly onChanged: (manifest: BundleObject) => void;
}

/** The state of an object after it was applied. */
interface Applied {
  readonly manifest: BundleObject;
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  readonly shape: string;
}

export type ReleaseWork = ReturnType<typeof startReleaseWork>;

export function startReleaseWork(parts: ReleaseWorkParts) {
  const { kube, clock, bundle } = parts;
  const kinds = new Map<string, WatchedKind>();
  const ended = new AbortController();
  const joined = new Set<string>();
  let roundsUnderWay = 0;
  /** A round that has begun and not ended, even if its effect has. */
  let round: BundleRound | null = null;
  const watched: WatchedParts = { ...parts, onChanged: (manifest) => round?.forget(manifest) };
  const kindOf = (resource: KubeResource) => {
    const key = `${resource.group}/${resource.kind}`;
    const known = kinds.get(key) ?? new WatchedKind(watched, resource, () => roundsUnderWay > 0);
    kinds.set(key, known);
    return known;
  };
  return {
    release: bundle.release,
    /** Begins a round, or goes on with the one whose time was over. */
    async round(more: readonly KindName[], signal: AbortSignal): Promise<RoundSummary> {
      roundsUnderWay++;
      const both = AbortSignal.any([signal, ended.signal]);
      const begunAt = clock.monotonic();
      round ??= new BundleRound(bundle);
      const summary = await round
        .goOn(
          {
            kube: patientKube(kube, clock, both),
            joined,
            isOver: () => clock.monotonic() - begunAt >= limits.releaseRoundPartMs,
            onApplied: (manifest, resource, object) => {
              if (!ended.signal.aborted) kindOf(resource).remember(manifest, object);
            },
            onPruned: (resource, object) => {
              if (!ended.signal.aborted) kindOf(resource).forget(object);
            },
          },
          more,
          both,
        )
        .finally(() => {
          roundsUnderWay--;
        });
      if (summary.toGo === undefined) round = null;
      return summary;
    },
    stop(): void {
      ended.abort(new Error('the leadership is over'));
      for (const kind of kinds.values()) kind.stop();
    },
  };
}

/** The objects of one kind, followed from the first that was applied. */
class WatchedKind {
  readonly #parts: WatchedParts;
  readonly #resource: KubeResource;
  readonly #isWanted: (object: KubeObject) => boolean;
  readonly #isRoundUnderWay: () => boolean;
  readonly #applied = new Map<string, Applied>();
  /** By their uids: objects that a round deleted, until the watch tells of it. */
  readonly #deleted = new Set<string>();
  readonly #watch: { stop(): void };

  constructor(parts: WatchedParts, resource: KubeResource, isRoundUnderWay: () => boolean) {
    this.#parts = parts;
    this.#resource = resource;
    this.#isRoundUnderWay = isRoundUnderWay;
    this.#isWanted = wantedIn(parts.bundle, resource);
    this.#watch = this.#startWatch();
  }

  remember(manifest: BundleObject, object: KubeObject): void {
    const { uid, resourceVersion } = object.metadata;
    const shape = shapeOf(manifest, object);
    this.#applied.set(keyOf(object), { manifest, uid, resourceVersion, shape });
  }

  /** A round deleted it: what the watch tells of it from now on may be from before. */
  forget({ metadata: { uid } }: KubeObject): void {
    if (uid !== undefined) this.#deleted.add(uid);
  }

  stop(): void {
    this.#watch.stop();
  }

  #startWatch(): { stop(): void } {
    return startWatch(this.#parts, {
      name: `${this.#resource.plural} of the bundle`,
      resource: this.#resource,
      namespace: null,
      labelSelector: selectorOf(this.#parts.bundle),
      onRestart: () => {},
      sink: {
        read: (object: KubeObject) => object,
        onReplace: (objects) => this.#onList(objects),
        onEvent: (type, object) => (type === 'DELETED' ? this.#onDeleted(object) : this.#onChange(object)),
      },
    });
  }

  #onList(objects: readonly KubeObject[]): void {
    const there = new Set(objects.map(keyOf));
    for (const [key, { manifest }] of this.#applied) if (!there.has(key)) this.#drifted(manifest);
    for (const object of objects) this.#onChange(object);
    const present = new Set(objects.map(({ metadata }) => metadata.uid));
    for (const uid of this.#deleted) if (!present.has(uid)) this.#deleted.delete(uid);
  }

  #onChange(object: KubeObject): void {
    const { resourceVersion, uid, deletionTimestamp } = object.metadata;
    const known = this.#applied.get(keyOf(object));
    if (known === undefined) {
      // An object of ours that is just being applied for the first time is no drift; one that the bundle
      // lacks is to be deleted, which a round in progress does.
      const isLeft = !this.#isWanted(object) && isAppliedByUs(object) && !this.#deleted.has(uid ?? '');
      if (isLeft && deletionTimestamp === undefined && !this.#isRoundUnderWay())
        this.#tell(`${this.#resource.kind} ${keyOf(object)}`);
      return;
    }
    if (resourceVersion === known.resourceVersion || isOlderVersion(resourceVersion, known.resourceVersion))
      return;
    if (uid === known.uid && shapeOf(known.manifest, object) === known.shape) return;
    this.#drifted(known.manifest);
  }

  /** It was deleted, or lost its label. */
  #onDeleted(object: KubeObject): void {
    const { uid } = object.metadata;
    this.#deleted.delete(uid ?? '');
    const known = this.#applied.get(keyOf(object));
    if (known !== undefined && known.uid === uid) this.#drifted(known.manifest);
  }

  #drifted(manifest: BundleObject): void {
    this.#parts.onChanged(manifest);
    this.#tell(objectName(manifest));
  }

  #tell(object: string): void {
    try {
      this.#parts.onDrift(object);
    } catch (thrown) {
      this.#parts.log.warn({ object, error: asError(thrown).message }, 'drift could not be told');
    }
  }
}

const keyOf = ({ metadata }: KubeObject) => `${metadata.namespace ?? ''}/${metadata.name}`;

/**
 * An object's values in exactly the places that its manifest sets, as a comparable text. Drift is a
 * difference between the present shape and that after applying: values that the API server normalizes
 * (`1000m` becomes `1`) are no drift, nor are fields that others set.
 */
function shapeOf(manifest: BundleObject, object: KubeObject): string {
  const { labels = {}, annotations = {} } = manifest.metadata;
  const fields = Object.keys(manifest).filter((field) => !silentFields.has(field));
  return JSON.stringify({
    labels: project(labels, object.metadata.labels ?? {}),
    annotations: project(annotations, object.metadata.annotations ?? {}),
    fields: fields.map((field) => project(manifest[field], object[field])),
  });
}

function project(manifest: unknown, live: unknown): unknown {
  if (Array.isArray(manifest)) {
    if (!Array.isArray(live)) return live ?? null;
    // Others may append to a list with keys; its first members keep their places.
    return manifest.map((item, index) => project(item, live[index]));
  }
  if (typeof manifest === 'object' && manifest !== null) {
    if (typeof live !== 'object' || live === null) return live ?? null;
    const found = live as Readonly<Record<string, unknown>>;
    return Object.keys(manifest).map((key) => [
      key,
      project((manifest as Readonly<Record<string, unknown>>)[key], found[key]),
    ]);
  }
  return live ?? null;
}
