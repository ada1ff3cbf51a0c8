/** How features name the kinds of Kubernetes objects: `v1/Node`, `apps/v1/Deployment`. */
import { OrreryError } from '../base/errors.ts';

/** `<apiVersion>/<Kind>` */
export type KindName = `${string}/${string}`;

export interface NamedResource {
  /** `v1`, `apps/v1` */
  readonly apiVersion: string;
  readonly kind: string;
  /** Lower case, for permissions; default: the regular plural. Calls look the kind up in the cluster. */
  readonly plural?: string;
}

/** @throws OrreryError USAGE */
export function readKindName(name: KindName | NamedResource): NamedResource {
  const resource = typeof name === 'string' ? partsOf(name) : name;
  const isKind = /^[A-Z][A-Za-z0-9]*$/.test(resource.kind);
  if (isKind && /^([a-z0-9.-]+\/)?v[a-z0-9]+$/.test(resource.apiVersion)) return resource;
  const text = typeof name === 'string' ? name : `${resource.apiVersion}/${resource.kind}`;
  throw new OrreryError(
    'USAGE',
    `${JSON.stringify(text)} is not a kind; allowed: apiVersion/Kind, such as v1/Node or apps/v1/Deployment`,
  );
}

function partsOf(text: string): NamedResource {
  const slash = text.lastIndexOf('/');
  return { apiVersion: text.slice(0, Math.max(slash, 0)), kind: text.slice(slash + 1) };
}

/** Empty for the core group. */
export function groupOf({ apiVersion }: NamedResource): string {
  return apiVersion.slice(0, Math.max(apiVersion.lastIndexOf('/'), 0));
}

/** As the API server forms it for most kinds. */
export function pluralOf({ kind, plural }: NamedResource): string {
  if (plural !== undefined) return plural;
  const word = kind.toLowerCase();
  if (/(s|x|z|ch|sh)$/.test(word)) return `${word}es`;
  return /[^aeiou]y$/.test(word) ? `${word.slice(0, -1)}ies` : `${word}s`;
}
