/**
 * Reads fields of untrusted objects: a field of a wrong type counts as absent, so one broken object hurts no
 * other (I8).
 */

export type Fields = Readonly<Record<string, unknown>>;

export function record(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function texts(values: readonly unknown[]): string[] {
  return values.filter((value) => typeof value === 'string');
}

export function textMap(value: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(record(value)).filter(([, entry]) => typeof entry === 'string'),
  ) as Readonly<Record<string, string>>;
}
