/**
 * What several features declare of one resource, as the one mirror that serves them all, and the names of
 * resources and mirrors. Pure.
 */
import type { Feature } from '../../actors/feature.ts';
import type { NamedKind, WatchDeclaration } from '../../actors/world/watch-declaration.ts';
import type { ResourceName } from '../../base/digests.ts';
import type { KubeResource } from '../../base/kube-port.ts';

/** What is asked of a feature here. */
export type Watching = Pick<Feature, 'watches' | 'namedWatches'>;

export interface MergedWatch {
  readonly resource: KubeResource | NamedKind;
  /** Of the mirror: of the fence that it holds and of the statement that it makes. */
  readonly mirror: string;
  /** In the world; null: `<plural>.<group>`. */
  readonly name: string | null;
  readonly label: string | null;
  readonly digestKind: string | null;
  readonly withoutLabels: boolean;
  readonly isNeeded: boolean;
  /** The loaded feature whose own it is; null: all share it. */
  readonly apart: WatchDeclaration['apart'] | null;
  readonly parts: readonly WatchDeclaration[];
  /** They ask for nothing of the objects, but wait for statements that name them. */
  readonly askers: readonly WatchDeclaration[];
}

/**
 * One watch for each resource, in the order in which features declare them. Whoever names kinds at run time
 * waits for a statement of each, also of those that are mirrored for others. @throws Error if two features
 * contradict each other
 */
export function watchesOf(features: readonly Watching[]): MergedWatch[] {
  const declared = features.flatMap(({ watches }) => watches);
  const byKind = Map.groupBy(declared, placeOf);
  return [...byKind].map(([kind, parts]) => {
    const watch = mergeOne(parts);
    if (watch.apart !== null) return watch;
    const isOwn = (declaration: WatchDeclaration) => placeOf(declaration) === kind;
    const naming = features.filter(({ watches }) => !watches.some(isOwn));
    const named = namedKind(watch.resource);
    return { ...watch, askers: naming.flatMap(({ namedWatches }) => namedWatches?.declare(named) ?? []) };
  });
}

/** Those of one place share a mirror. */
function placeOf({ resource, name, apart }: WatchDeclaration): string {
  return apart !== undefined && name !== undefined ? `apart/${name}` : kindText(resource);
}

/** The watch of those that declare one resource. @throws Error if they contradict each other */
export function mergeOne(parts: readonly WatchDeclaration[]): MergedWatch {
  const [first] = parts;
  if (first === undefined) throw new Error('a watch is declared by somebody');
  const known = parts.find(({ resource }) => 'plural' in resource) ?? first;
  const name = agreed(parts, 'name');
  return {
    resource: known.resource,
    mirror: name ?? kindText(known.resource),
    name,
    label: labelOf(parts),
    digestKind: agreed(parts, 'digestKind'),
    withoutLabels: parts.every(({ withoutLabels }) => withoutLabels === true),
    isNeeded: parts.some(({ needed }) => needed === true),
    apart: first.apart ?? null,
    parts,
    askers: [],
  };
}

/** What those say of a field that say something; null: nobody does. */
function agreed(parts: readonly WatchDeclaration[], field: 'name' | 'digestKind'): string | null {
  return one(
    parts.flatMap((part) => part[field] ?? []),
    field,
    parts,
  );
}

/** Whoever watches without a label would see fewer objects than it declares, or somebody else more. */
function labelOf(parts: readonly WatchDeclaration[]): string | null {
  return one(
    parts.map(({ label }) => label ?? null),
    'label',
    parts,
  );
}

function one<T>(values: readonly T[], field: string, [first]: readonly WatchDeclaration[]): T | null {
  const [value, ...others] = new Set(values);
  if (others.length === 0) return value ?? null;
  const kind = first === undefined ? '' : kindText(first.resource);
  throw new Error(`features that watch ${kind} differ in its ${field}: ${[value, ...others].join(', ')}`);
}

/** `v1/Secret`, `tailscale.com/v1alpha1/ProxyGroup`. */
export function kindText(resource: KubeResource | NamedKind): string {
  const { apiVersion, kind } = namedKind(resource);
  return `${apiVersion}/${kind}`;
}

export function namedKind(resource: KubeResource | NamedKind): NamedKind {
  return 'plural' in resource ? { apiVersion: apiVersionOf(resource), kind: resource.kind } : resource;
}

/** `v1`, `tailscale.com/v1alpha1`. */
export function apiVersionOf({ group, version }: KubeResource): string {
  return group === '' ? version : `${group}/${version}`;
}

/** The name of a resource in the world to which no feature gives one. */
export function resourceName({ group, plural }: KubeResource): ResourceName {
  return group === '' ? plural : `${plural}.${group}`;
}
