/** JSON merge patch (RFC 7386): objects are merged, null removes, everything else replaces. */
import { copy, isObject, type Json, type JsonObject, set } from '../json.ts';

/** Neither argument is changed. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return copy(patch);
  const result: JsonObject = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else if (value !== undefined) set(result, key, mergePatch(result[key], value));
  }
  return result;
}
