/**
 * What a round changed in one object: the fields that differ before and after, for people.
 *
 * Promises: no value of a Secret is shown, nor of a field whose name suggests one (I9); values are short.
 * Pure. Absent: fields that the API server sets.
 */
import { equal } from '../../base/equal.ts';
import type { KubeObject } from '../../base/kube-port.ts';
import { limits } from '../../base/limits.ts';
import { isFields } from '../../base/plain-event.ts';
import type { FieldChange } from '../../machines/release/release-events.ts';

/** Fields of metadata that the API server sets, not the applier. */
export const serverMetadata: ReadonlySet<string> = new Set([
  'creationTimestamp',
  'generation',
  'managedFields',
  'resourceVersion',
  'selfLink',
  'uid',
]);
const secretWords = /passw|secret|token|credential|private|api-?key|certificate/i;
const masked = '…';

/** @param before null: it was created */
export function changesOf(before: KubeObject | null, after: KubeObject): readonly FieldChange[] {
  if (before === null) return [];
  const isSecret = after.kind === 'Secret' || before.kind === 'Secret';
  const changes: FieldChange[] = [];
  for (const field of differences(visible(before), visible(after), '')) {
    if (changes.length >= limits.releaseFieldsTold) break;
    changes.push(isSecret || secretWords.test(field.path) ? hidden(field) : field);
  }
  return changes;
}

function visible({ status: _, ...object }: KubeObject): object {
  const metadata = Object.entries(object.metadata).filter(([name]) => !serverMetadata.has(name));
  return { ...object, metadata: Object.fromEntries(metadata) };
}

const hidden = ({ path, from, to }: FieldChange): FieldChange => ({
  path,
  from: from === null ? null : masked,
  to: to === null ? null : masked,
});

function* differences(before: unknown, after: unknown, path: string): Generator<FieldChange> {
  if (equal(before, after)) return;
  if (!isFields(before) || !isFields(after)) {
    yield { path, from: wordsOf(before), to: wordsOf(after) };
    return;
  }
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    yield* differences(
      before[name],
      after[name],
      Array.isArray(after) ? `${path}[${name}]` : dotted(path, name),
    );
  }
}

const dotted = (path: string, name: string) => {
  const word = /^[A-Za-z0-9_-]+$/.test(name) ? name : `"${name}"`;
  return path === '' ? word : `${path}.${word}`;
};

/** null: the field is absent. Nested values may be secret, whatever the field's name. */
function wordsOf(value: unknown): string | null {
  if (value === undefined) return null;
  const json = JSON.stringify(value, (key, inner) => (secretWords.test(key) ? masked : inner)) ?? '';
  return json.length > limits.releaseValueChars ? `${json.slice(0, limits.releaseValueChars - 1)}…` : json;
}
