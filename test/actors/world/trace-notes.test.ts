/** Which change of the world an actor is about to be told of, for its trace. */
import { expect, test } from 'vitest';
import { createTraceNotes } from '../../../src/actors/world/trace-notes.ts';
import { limits } from '../../../src/base/limits.ts';

test('actors that others own, who are told of nothing here, take no place from those that are', () => {
  const notes = createTraceNotes();
  notes.note(['pod/shop/ours'], 'first');
  for (let n = 0; n < limits.traceNotes; n++) notes.note([`pod/shop/theirs-${n}`], 'change');
  notes.note(['pod/shop/ours'], 'second');
  notes.note(['pod/shop/new'], 'second');
  expect(notes.take('pod/shop/ours')).toBe('second');
  expect(notes.take('pod/shop/new')).toBe('second');
  expect(notes.take('pod/shop/theirs-0')).toBeUndefined();
});
