/**
 * Merges the watches that several features declare for one resource into the one of the mirror that serves
 * them all; names resources and mirrors. Pure.
 */
import type { Feature } from '../../actors/feature.ts';
import type { NamedKind, WatchDeclaration } from '../../actors/world/watch-declaration.ts';
import type { ResourceName } from '../../base/digests.ts';
import type { KubeResource } from '../../base/kube-port.ts';

/** What is needed of a feature here. */
export type Watching = Pick<Feature, 'watches' | 'namedWatches'>;

export interface MergedWatch {
  readonly resource: KubeResource | NamedKind;
  /** The mirror's name, in its fence and its statement. */
  readonly mirror: string;
  /** The name in the world; null: `<plural>.<group>`. */
  readonly name: string | null;
  readonly label: string | null;
  readonly digestKind: string | null;
  readonly withoutLabels: boolean;
  readonly isNeeded: boolean;
  /** The loaded feature that owns it; null: shared by all. */
  readonly apart: WatchDeclaration['apart'] | null;
  readonly parts: readonly WatchDeclaration[];
  /** They need nothing of the objects, but wait for statements that name their versions. */
  readonly askers: readonly WatchDeclaration[];
}

/**
 * One watch for each resource, in the order of declaration. A feature that names kinds at run time waits for
 * a statement on each, even on one that is mirrored for others.
 *
 * @throws Error if two features contradict each other
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

/** Watches with the same key share a mirror. */
function placeOf({ resource, name, apart }: WatchDeclaration): string {
  return apart !== undefined && name !== undefined ? `apart/${name}` : kindText(resource);
}

/** Merges the watches of one resource. @throws Error if they contradict each other */
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

/** The value of a field on which all that set it agree; null: none sets it. */
function agreed(parts: readonly WatchDeclaration[], field: 'name' | 'digestKind'): string | null {
  return one(
    parts.flatMap((part) => part[field] ?? []),
    field,
    parts,
  );
}

/** With a label, a feature that declares none would see too few objects; without it, the others too many. */
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

function namedKind(resource: KubeResource | NamedKind): NamedKind {
  return 'plural' in resource ? { apiVersion: apiVersionOf(resource), kind: resource.kind } : resource;
}

/** `v1`, `tailscale.com/v1alpha1`. */
export function apiVersionOf({ group, version }: KubeResource): string {
  return group === '' ? version : `${group}/${version}`;
}

/** The name in the world of a resource that no feature names. */
export function resourceName({ group, plural }: KubeResource): ResourceName {
  return group === '' ? plural : `${plural}.${group}`;
}
