/**
 * What the chart renders, as an API server reads it: every object of every set of values is taken by a strict
 * server-side apply, and none has a field that the server does not know.
 */
import { describe, expect } from 'vitest';
import { placeOf, valueSets } from '../../scripts/chart/rendering.ts';
import { readYaml, root } from '../deploy/manifests.ts';
import type { Client, JsonObject } from './client.ts';
import { isDevelopmentServer, test } from './conformance.ts';

interface Place {
  readonly path: string;
  readonly namespaced: boolean;
}

/** Kinds of operators that need not be there, and the one that the development server does not have. */
const mayBeMissing = [
  'monitoring.coreos.com/v1/ServiceMonitor',
  'monitoring.coreos.com/v1/PodMonitor',
  'monitoring.coreos.com/v1/PrometheusRule',
  ...(isDevelopmentServer ? ['networking.k8s.io/v1/NetworkPolicy'] : []),
];

/** Where objects of a kind are; undefined if the server does not have it. */
async function placeOfKind(api: Client, apiVersion: string, kind: string): Promise<Place | undefined> {
  const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const listed = await api.get(path);
  const resources = (listed.body.resources ?? []) as { name: string; kind: string; namespaced: boolean }[];
  const found = resources.find((one) => one.kind === kind && !one.name.includes('/'));
  return found && { path: `${path}/@/${found.name}`, namespaced: found.namespaced };
}

/** @returns the complaint; undefined if the server would take it; null if it does not know the kind */
async function wouldBeTaken(api: Client, object: JsonObject): Promise<string | undefined | null> {
  const { apiVersion, kind, metadata } = object as {
    apiVersion: string;
    kind: string;
    metadata: { name: string; namespace?: string };
  };
  const place = await placeOfKind(api, apiVersion, kind);
  if (place === undefined) return null;
  const within = place.namespaced ? `namespaces/${metadata.namespace}/` : '';
  const path = `${place.path.replace('@/', within)}/${metadata.name}`;
  const query = 'dryRun=All&fieldValidation=Strict&fieldManager=tests&force=true';
  const reply = await api.patch(`${path}?${query}`, 'apply', object);
  return reply.code < 300 ? undefined : reply.text;
}

describe.each(valueSets(root))('the chart with examples/%s.yaml', (set) => {
  test('each object is taken as it stands', async ({ api, namespace }) => {
    const objects = readYaml(placeOf(set)) as unknown as JsonObject[];
    expect(objects.length).toBeGreaterThan(15);
    const refused: string[] = [];
    for (const object of objects.map((one) => movedTo(namespace, one))) {
      const kind = `${object.apiVersion}/${object.kind}`;
      const complaint = await wouldBeTaken(api, object);
      if (complaint === null && mayBeMissing.includes(kind)) continue;
      if (complaint !== undefined) refused.push(`${kind}: ${complaint ?? 'the server has no such kind'}`);
    }
    expect(refused).toEqual([]);
  });
});

/** Into the test's namespace, whatever namespace it names: that one exists. */
function movedTo(namespace: string, object: JsonObject): JsonObject {
  const metadata = object.metadata as JsonObject;
  return metadata.namespace === undefined ? object : { ...object, metadata: { ...metadata, namespace } };
}
