/**
 * The shape of an object: what it holds in exactly the places where a manifest says something. Whether an object drifted is told by
 * its shape now and its shape after it was applied, so that what the API server makes of a value (`1000m` becomes `1`) is no drift, nor
 * is what others wrote elsewhere.
 */

import type { KubeObject } from '../../kube/api/port.ts';
import type { BundleObject } from './bundle.ts';

/** Where a manifest says nothing about the object itself. */
const silentFields = new Set(['apiVersion', 'kind', 'metadata', 'status']);

/** A text that is equal for equal shapes. */
export function shapeOf(manifest: BundleObject, object: KubeObject): string {
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
    // Others may add to a list that has keys; its first members stay where they are.
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
