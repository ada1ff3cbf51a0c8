/** The form of an event on the page: what is typed becomes the event, or is told what is right. */
import { describe, expect, test } from 'vitest';
import type { MessageForm } from '../../src/base/views.ts';
import { readForm } from '../../src/inspector/page/actor/event-form.ts';
import { ownKinds } from '../../src/replica/charts.ts';

const formOf = (kind: string, type: string): MessageForm => {
  const form = ownKinds.messages.get(kind)?.[type];
  if (form === undefined) throw new Error(`${kind} takes no ${type}`);
  return form;
};
const read = (type: string, texts: Record<string, string>) =>
  readForm(type, formOf(type.split('.', 1)[0] ?? '', type), texts);

test('what needs no field is an event as it is', () => {
  expect(read('pod.recheck', {})).toEqual({ event: { type: 'pod.recheck' }, faults: {} });
});

describe('fields of an election', () => {
  test('texts become values of their types; what is left empty is left out', () => {
    expect(read('election.renew', { candidate: '7', term: '3' })).toEqual({
      event: { type: 'election.renew', candidate: '7', term: 3 },
      faults: {},
    });
    expect(read('election.campaign', { candidate: 'a', ttlMs: '' }).event).toEqual({
      type: 'election.campaign',
      candidate: 'a',
    });
    expect(read('election.campaign', { candidate: 'a', ttlMs: 'null' }).event).toMatchObject({ ttlMs: null });
  });

  test.each([
    [{}, 'candidate', 'candidate is missing: text, 1 to 253 characters'],
    [{ candidate: 'a\u0007' }, 'candidate', 'candidate takes text, 1 to 253 characters'],
    [{ candidate: 'a', ttlMs: '99' }, 'ttlMs', 'ttlMs takes a whole number, 100 to 3600000, or null'],
    [{ candidate: 'a', ttlMs: 'soon' }, 'ttlMs', 'ttlMs takes a whole number, 100 to 3600000, or null'],
    [{ candidate: 'a', ttlMs: '100.5' }, 'ttlMs', 'ttlMs takes a whole number, 100 to 3600000, or null'],
  ])('%o is wrong, and is told what is right', (texts, field, fault) => {
    expect(read('election.campaign', texts).faults[field]).toContain(fault);
  });
});

test('of several values one; a time in either of its forms', () => {
  const right = { family: 'IPv6', at: '2026-01-02T03:04:05Z' };
  expect(read('proxier.queued', right)).toEqual({ event: { type: 'proxier.queued', ...right }, faults: {} });
  expect(read('proxier.queued', { family: 'IPv6', at: '17' }).event).toMatchObject({ at: 17 });
  expect(read('proxier.queued', { family: 'IPv5' }).faults).toEqual({ family: 'family takes IPv4 or IPv6' });
});
