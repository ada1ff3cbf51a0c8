/** Request bodies: JSON or YAML text to values, by content type. */
import { parse } from 'yaml';
import { asError } from '../../../src/base/errors.ts';
import type { ApiRequest } from '../http/request.ts';
import { isObject, type Json, type JsonObject } from '../json.ts';
import type { Resource } from '../resources/resource.ts';
import { badRequest, unsupportedMedia } from '../status.ts';

/** Media types of whole objects. The real server also accepts protobuf for built-in kinds. */
const objectTypes = ['application/json', 'application/yaml'];

/** The media type of a header, without its parameters. */
export function mediaType(header: string): string {
  return (header.split(';')[0] ?? '').trim().toLowerCase();
}

/**
 * The object in the body of a create or update.
 *
 * @throws ApiError 415 for other media types, 400 if it is not an object
 */
export function bodyObject(request: ApiRequest, resource: Resource): JsonObject {
  const type = mediaType(request.contentType) || 'application/json';
  if (!objectTypes.includes(type)) throw unsupportedMedia(objectTypes);
  const text = request.body.toString('utf8');
  const value = type === 'application/yaml' ? yamlValue(text) : jsonObjectValue(text, resource);
  if (isObject(value)) return value;
  throw badRequest(
    `the object provided is unrecognized (must be of type ${resource.kind}): couldn't get version/kind; json parse error: json: cannot unmarshal ${Array.isArray(value) ? 'array' : typeof value} into Go value of type struct { APIVersion string; Kind string }`,
  );
}

/** The value of a patch. @throws ApiError 400 */
export function patchValue(request: ApiRequest, isYaml: boolean): Json {
  const text = request.body.toString('utf8');
  if (isYaml) return yamlValue(text);
  try {
    return JSON.parse(text) as Json;
  } catch (thrown) {
    throw badRequest(`error decoding patch: ${asError(thrown).message}`);
  }
}

function jsonObjectValue(text: string, resource: Resource): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (thrown) {
    const kind = `the object provided is unrecognized (must be of type ${resource.kind})`;
    throw badRequest(
      `${kind}: couldn't get version/kind; json parse error: ${asError(thrown).message} (${text.slice(0, 32)})`,
    );
  }
}

function yamlValue(text: string): Json {
  try {
    return parse(text) as Json;
  } catch (thrown) {
    throw badRequest(`error decoding YAML: ${asError(thrown).message}`);
  }
}
