/** The documents that tell clients what is served: groups, versions, resources. */
import type { JsonObject } from '../json.ts';
import type { Registry } from '../resources/registry.ts';
import { apiVersionOf, type Resource, type Verb } from '../resources/resource.ts';

/** The document at `path`, or undefined if there is none. */
export function discoveryDocument(registry: Registry, path: string, address: string): JsonObject | undefined {
  const trimmed = path.endsWith('/') ? path.slice(0, -1) : path;
  if (trimmed === '/api') return coreVersions(address);
  if (trimmed === '/apis') return groupList(registry);
  const [, root, group = '', version, more] = trimmed.split('/');
  if (more !== undefined) return undefined;
  if (root === 'api' && group === 'v1' && version === undefined) return resourceList(registry, '', 'v1');
  if (root !== 'apis') return undefined;
  const groups = groupsOf(registry);
  const versions = groups.get(group);
  if (versions === undefined) return undefined;
  if (version === undefined) return { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(group, versions) };
  return versions.includes(version) ? resourceList(registry, group, version) : undefined;
}

/** Paths of all documents, for the index at `/`. */
export function discoveryPaths(registry: Registry): string[] {
  const groups = [...groupsOf(registry)].flatMap(([group, versions]) => [
    `/apis/${group}`,
    ...versions.map((version) => `/apis/${group}/${version}`),
  ]);
  return ['/api', '/api/v1', '/apis', ...groups.sort()];
}

function coreVersions(address: string): JsonObject {
  return {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: address }],
  };
}

function groupList(registry: Registry): JsonObject {
  const groups = [...groupsOf(registry)].map(([group, versions]) => groupEntry(group, versions));
  return { kind: 'APIGroupList', apiVersion: 'v1', groups };
}

/** Group → versions, preferred one first; without the core group. */
export function groupsOf(registry: Registry): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const { group, version } of registry.all()) {
    if (group === '') continue;
    const versions = groups.get(group) ?? [];
    if (!versions.includes(version)) versions.push(version);
    groups.set(group, versions.sort(byMaturity));
  }
  return groups;
}

function groupEntry(name: string, versions: readonly string[]): JsonObject {
  const entries = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: entries, preferredVersion: entries[0] ?? {} };
}

/** Kubernetes' order of versions: stable before beta before alpha, newer before older, then by name. */
function byMaturity(a: string, b: string): number {
  const [left, right] = [rankOf(a), rankOf(b)];
  for (const [index, rank] of left.entries()) if (rank !== right[index]) return (right[index] ?? 0) - rank;
  return a < b ? -1 : 1;
}

function rankOf(version: string): number[] {
  const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
  if (match === null) return [0, 0, 0];
  const stage = match[2] === undefined ? 3 : match[2] === 'beta' ? 2 : 1;
  return [stage, Number(match[1]), Number(match[3] ?? 0)];
}

function resourceList(registry: Registry, group: string, version: string): JsonObject {
  const entries = resourcesOf(registry, group, version);
  const groupVersion = apiVersionOf({ group, version });
  return {
    kind: 'APIResourceList',
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion,
    resources: entries,
  };
}

/** The entries of a group's version by name, parts included. */
export function resourcesOf(registry: Registry, group: string, version: string): JsonObject[] {
  const own = registry.all().filter((resource) => resource.group === group && resource.version === version);
  const entries = own.flatMap(resourceEntries);
  if (group === '') entries.push(partEntry('bindings', { kind: 'Binding', verbs: ['create'] }));
  return entries.sort((a, b) => (String(a.name) < String(b.name) ? -1 : 1));
}

function resourceEntries(resource: Resource): JsonObject[] {
  const { plural, singular, namespaced, kind, shortNames, categories } = resource;
  const whole = {
    name: plural,
    singularName: singular,
    namespaced,
    kind,
    verbs: [...resource.verbs],
    ...(shortNames.length === 0 ? {} : { shortNames: [...shortNames] }),
    ...(categories.length === 0 ? {} : { categories: [...categories] }),
  };
  return [whole, ...partEntries(resource)];
}

const partVerbs: readonly Verb[] = ['get', 'patch', 'update'];

function partEntries(resource: Resource): JsonObject[] {
  const { plural, kind, namespaced } = resource;
  const part = (name: string, more: JsonObject) => ({ ...partEntry(`${plural}/${name}`, more), namespaced });
  return [
    ...(resource.hasStatus ? [part('status', { kind, verbs: [...partVerbs] })] : []),
    ...(resource.scale === null
      ? []
      : [part('scale', { group: 'autoscaling', version: 'v1', kind: 'Scale', verbs: [...partVerbs] })]),
    ...(resource.storage === 'pods'
      ? [
          part('binding', { kind: 'Binding', verbs: ['create'] }),
          part('eviction', { group: 'policy', version: 'v1', kind: 'Eviction', verbs: ['create'] }),
        ]
      : []),
    ...(resource.storage === 'namespaces' ? [part('finalize', { kind, verbs: ['update'] })] : []),
  ];
}

function partEntry(name: string, more: JsonObject): JsonObject {
  return { name, singularName: '', namespaced: true, ...more };
}
