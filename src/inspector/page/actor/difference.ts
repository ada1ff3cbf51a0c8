/** The changes that a step made to a context: for each value whether it is new, different or gone. Pure. */
export type Change = 'same' | 'new' | 'changed' | 'gone' | 'inside';

export interface ValueNode {
  readonly name: string;
  readonly value: unknown;
  /** The value before, if different. */
  readonly before?: unknown;
  /** `inside`: something within it has changed. */
  readonly change: Change;
  readonly children: readonly ValueNode[] | null;
}

/** @param before undefined: unknown, so nothing counts as changed */
export function compare(name: string, value: unknown, before: unknown): ValueNode {
  if (before === undefined) return plain(name, value, 'same');
  if (isBranch(value) && isBranch(before) && Array.isArray(value) === Array.isArray(before)) {
    const children = childrenOf(value, before);
    const isSame = children.every(({ change }) => change === 'same');
    return { name, value, change: isSame ? 'same' : 'inside', children };
  }
  if (Object.is(value, before)) return plain(name, value, 'same');
  return { ...plain(name, value, 'changed'), before };
}

function childrenOf(value: object, before: object): ValueNode[] {
  const [now, then] = [new Map(Object.entries(value)), new Map(Object.entries(before))];
  const kept = [...now].map(([key, child]) =>
    then.has(key) ? compare(key, child, then.get(key) ?? null) : plain(key, child, 'new'),
  );
  const gone = [...then].flatMap(([key, child]) => (now.has(key) ? [] : [plain(key, child, 'gone')]));
  return [...kept, ...gone];
}

function plain(name: string, value: unknown, change: Change): ValueNode {
  const children = isBranch(value)
    ? Object.entries(value).map(([key, child]) => plain(key, child, change === 'same' ? 'same' : change))
    : null;
  return { name, value, change, children };
}

function isBranch(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
