/** Versions as JSON text, encoded once for each resource that shows them. */
import { apiVersionOf, type Resource, shown } from './resources/resource.ts';
import type { Version } from './storage/version.ts';

/** The whole object. */
export function objectText(resource: Resource, version: Version): string {
  const body = bodyText(resource, version);
  return `${typePrefix(resource)}${body.slice(1)}`;
}

/** The object as an item of a list: built-in items do not repeat their type. */
export function itemText(resource: Resource, version: Version): string {
  return resource.isCustom ? objectText(resource, version) : bodyText(resource, version);
}

/** `{"kind":"Pod","apiVersion":"v1",` */
export function typePrefix(resource: Resource): string {
  return `{"kind":${JSON.stringify(resource.kind)},"apiVersion":${JSON.stringify(apiVersionOf(resource))},`;
}

function bodyText(resource: Resource, version: Version): string {
  const key = resource.view === undefined ? '' : resource.group;
  const known = version.texts.get(key);
  if (known !== undefined) return known;
  const { metadata, ...rest } = shown(resource, version.object);
  const text = JSON.stringify({ metadata, ...rest });
  version.texts.set(key, text);
  return text;
}
