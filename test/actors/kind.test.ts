/** What may be said to the actors of a kind: one form, for features of the program and of anybody's own. */
import * as v from 'valibot';
import { expect, test } from 'vitest';
import { createAdmission } from '../../src/actors/admission.ts';
import { kindOf, type MessageOptions } from '../../src/actors/kind.ts';
import { messageForms } from '../../src/actors/message-forms.ts';
import { proxierChart } from '../../src/machines/proxier/proxier.ts';

const origin = { receivedAt: 7, isTrusted: false };

test('a message is its fields, under its own type, with the words that it was declared with', () => {
  const kind = kindOf(proxierChart, {
    messages: { 'proxier.paused': v.pipe(v.object({ forMs: v.number() }), v.description('waits')) },
    refine: (event, { receivedAt }) => ({ ...event, receivedAt }),
  });
  expect(messageForms([kind]).get('proxier')).toEqual({
    'proxier.paused': {
      type: 'object',
      description: 'waits',
      properties: { type: { const: 'proxier.paused' }, forMs: { type: 'number' } },
      required: ['type', 'forMs'],
    },
  });
  const { admit } = createAdmission([kind]);
  const said = { type: 'proxier.paused', forMs: 5, more: 'dropped' };
  expect(admit('proxier', said, origin)).toEqual({ type: 'proxier.paused', forMs: 5, receivedAt: 7 });
  expect(() => admit('proxier', { type: 'proxier.paused' }, origin)).toThrow(/forMs/);
});

test('a message of another form is refused where it is declared', () => {
  const checked = v.pipe(
    v.object({ a: v.string() }),
    v.check(() => true),
  );
  for (const fields of [v.string(), checked, v.strictObject({})])
    expect(() => kindOf(proxierChart, { messages: { 'proxier.x': fields } } as MessageOptions)).toThrow(
      expect.objectContaining({ code: 'USAGE', message: expect.stringContaining('proxier.x') }),
    );
});
