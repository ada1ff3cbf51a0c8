/** The forms of public messages say the same as the schemas by which messages are admitted. */
import { describe, expect, test } from 'vitest';
import { createAdmission } from '../../src/actors/admission.ts';
import { fieldFault, formWords } from '../../src/actors/message-words.ts';
import { ownKinds } from '../../src/replica/charts.ts';
import { featuresOf } from '../../src/replica/features.ts';

const { admit, eventsOf } = createAdmission(featuresOf().flatMap(({ kinds }) => kinds));
const origin = { receivedAt: 1_000, isTrusted: true };
const kinds = [...ownKinds.messages];

test('every public message has a form that says what it does', () => {
  for (const [kind, forms] of kinds) {
    expect(Object.keys(forms)).toEqual(eventsOf(kind));
    for (const [type, form] of Object.entries(forms)) {
      expect(form.properties.type, type).toEqual({ const: type });
      expect(form.description, type).toMatch(/^[a-z].*[^.]$/);
    }
  }
});

/** Values on both sides of every bound that the schemas have. */
const values = [
  ...['', 'a', 'IPv4', '1.2.3.4', 'x'.repeat(253), 'x'.repeat(254), 'a\u0000', '\u202e', 'ä', '__proto'],
  ...[-1, 0, 1, 99, 100, 100.5, 3_600_000, 3_600_001, Number.MAX_SAFE_INTEGER],
  ...[true, null, [], {}],
];

describe.each(kinds.flatMap(([kind, forms]) => Object.entries(forms).map((one) => [kind, ...one] as const)))(
  '%s: %s',
  (kind, type, { properties, required }) => {
    const fields = Object.entries(properties).filter(([name]) => name !== 'type');
    const right = Object.fromEntries(
      fields
        .filter(([name]) => required.includes(name))
        .map(([name, form]) => [name, values.find((value) => fieldFault(form, value, true) === null)]),
    );

    test('what the form takes is admitted', () => {
      expect(admit(kind, { type, ...right }, origin)).toMatchObject({ type });
    });

    test.each(fields)('%s: what the form refuses is not admitted, and is told the form', (name, form) => {
      const isRequired = required.includes(name);
      for (const value of [undefined, ...values]) {
        if (fieldFault(form, value, isRequired) === null) continue;
        expect(() => admit(kind, { type, ...right, [name]: value }, origin), `${name} ${value}`).toThrow(
          /It takes .*\)$/,
        );
      }
    });
  },
);

test('a wrong message is told each wrong field, and what all of them take', () => {
  expect(() => admit('election', { type: 'election.renew', candidate: '', term: -1 }, origin)).toThrow(
    'field "candidate" of election.renew: a candidate has a name; ' +
      'field "term" of election.renew: Invalid value: Expected >=0 but received -1. ' +
      'It takes candidate (text, 1 to 253 characters: the name under which it campaigns), ' +
      'term (a whole number, from 0 on: the term that it was told)',
  );
  const pod = ownKinds.messages.get('pod')?.['pod.recheck'];
  expect(pod && formWords(pod)).toBe('no fields');
});

describe('a field that the message does not have', () => {
  const misspelt = { type: 'proxier.updated', family: 'IPv4', since: 5 };
  const byHand = { ...origin, isByHand: true };

  test('is left out of what programs send: theirs may be of a later release', () => {
    const { since: _, ...known } = misspelt;
    expect(admit('proxier', misspelt, origin)).toMatchObject(known);
    expect(admit('proxier', misspelt, origin)).not.toHaveProperty('since');
  });

  test('is refused where a person wrote it, with the field that was meant', () => {
    expect(() => admit('proxier', misspelt, byHand)).toThrow(
      /^proxier\.updated has no field "since"\. It takes family \(/,
    );
    expect(() => admit('pod', { type: 'pod.recheck', force: true }, byHand)).toThrow(
      'pod.recheck has no field "force". It takes no fields',
    );
    expect(() => admit('proxier', { type: 'proxier.updated', famly: 'IPv4' }, byHand)).toThrow(
      /^proxier\.updated has no field "famly" \(is family meant\?\); field "family" of proxier\.updated: /,
    );
  });

  test.each(kinds.flatMap(([kind, forms]) => Object.keys(forms).map((type) => [kind, type] as const)))(
    '%s: %s is refused with it',
    (kind, type) => {
      expect(() => admit(kind, { type, unknownField: 1 }, byHand)).toThrow(
        `${type} has no field "unknownField"`,
      );
    },
  );
});
