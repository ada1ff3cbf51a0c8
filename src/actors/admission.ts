/**
 * Decides which messages an actor accepts, by mail or by `orrery send`: the event types of each kind and the
 * form of their fields, as the features declare them.
 *
 * Promises: people and programs can send public messages only. Internal messages come from actors; a replica
 * vouches for the sender's name, and the sender must own what the message is about. Events that only the host
 * creates (observations of the world, outcomes of effects) are never admitted: nobody outside may tell an
 * actor what the world looks like.
 */
import { type BaseIssue, safeParse } from 'valibot';
import { meantBy } from '../base/config-values.ts';
import { OrreryError } from '../base/errors.ts';
import { parseActorId } from '../base/ids.ts';
import { isFields, type PlainEvent } from '../base/plain-event.ts';
import type { DeclaredKind, KindMessages, Origin, Parties, Schemas } from './kind.ts';
import { formsOf } from './message-forms.ts';
import { formWords } from './message-words.ts';

export interface Admission {
  /** Event types that an actor of this kind accepts from outside. */
  eventsOf(kind: string): readonly string[];
  /**
   * The event, reduced to the fields of its schema. Fields that are not in the schema are left out, because a
   * program may be of a later release; written by hand, they are refused.
   *
   * @throws OrreryError MESSAGE_UNKNOWN_KIND | MESSAGE_UNKNOWN_EVENT | MESSAGE_NOT_ALLOWED, which says what
   *   is wrong and what is allowed
   */
  admit(kind: string, event: PlainEvent, origin: Origin): PlainEvent;
}

/** @param declared by the features */
export function createAdmission(declared: readonly DeclaredKind[]): Admission {
  const kinds = new Map(
    declared.flatMap(({ chart, messages }) => (messages ? [[chart.name, messages] as const] : [])),
  );
  return {
    eventsOf: (kind) => Object.keys(kinds.get(kind)?.public ?? {}),
    admit(kind, event, origin) {
      const found = kinds.get(kind);
      if (!found)
        throw new OrreryError(
          'MESSAGE_UNKNOWN_KIND',
          `there are no actors of kind "${kind}" in this release; there are ${[...kinds.keys()].join(', ')}`,
        );
      const admitted = admittedBy(kind, found, event, origin);
      return found.refine?.(admitted, origin) ?? admitted;
    },
  };
}

function admittedBy(
  kind: string,
  { public: open, internal, holds }: KindMessages,
  event: PlainEvent,
  { between, isByHand = false }: Origin,
): PlainEvent {
  if (!Object.hasOwn(internal, event.type)) return parsed(kind, open, event, isByHand);
  if (between === undefined) {
    throw new OrreryError(
      'MESSAGE_NOT_ALLOWED',
      `only actors say "${event.type}" to ${withArticle(kind)}; from outside it takes ${Object.keys(open).join(', ')}`,
    );
  }
  const admitted = parsed(kind, internal, event);
  if (holds?.(admitted, partiesOf(between)) === false) {
    throw new OrreryError(
      'MESSAGE_NOT_ALLOWED',
      `${between.from} may not say "${event.type}" to ${between.to}`,
    );
  }
  return admitted;
}

const partiesOf = ({ from, to }: NonNullable<Origin['between']>): Parties => ({
  from: { id: from, ...parseActorId(from) },
  to: { id: to, ...parseActorId(to) },
});

const withArticle = (kind: string) => `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`;

function parsed(kind: string, schemas: Schemas, event: PlainEvent, allFields = false): PlainEvent {
  const schema = Object.hasOwn(schemas, event.type) ? schemas[event.type] : undefined;
  if (!schema) {
    throw new OrreryError(
      'MESSAGE_UNKNOWN_EVENT',
      `${withArticle(kind)} takes no event "${event.type}"; it takes ${Object.keys(schemas).join(', ')}`,
    );
  }
  const result = safeParse(schema, event);
  const surplus = allFields ? leftOut(event, result.output) : [];
  if (result.success && surplus.length === 0) return result.output;
  throw new OrreryError('MESSAGE_UNKNOWN_EVENT', wrongText(schema, event.type, result.issues ?? [], surplus));
}

/** Names each wrong field and each that does not exist, and what all fields take. */
function wrongText(
  schema: Schemas[string],
  type: string,
  issues: readonly BaseIssue<unknown>[],
  surplus: readonly string[],
): string {
  const form = formsOf({ [type]: schema })[type];
  const known = Object.keys(form?.properties ?? {}).filter((name) => name !== 'type');
  const wrong = [
    ...surplus.map((field) => `${type} has no field "${field}"${meantBy(field, known)}`),
    ...issues.map(({ message, path = [] }) => {
      const field = path.map(({ key }) => String(key)).join('.');
      return `field "${field}" of ${type}: ${message}`;
    }),
  ];
  return `${wrong.join('; ')}${form === undefined ? '' : `. It takes ${formWords(form)}`}`;
}

/** Paths of the fields that are in `written` and not in `kept`, at any depth. */
function leftOut(written: unknown, kept: unknown): readonly string[] {
  if (!isFields(written) || !isFields(kept)) return [];
  return Object.keys(written).flatMap((field) =>
    Object.hasOwn(kept, field)
      ? leftOut(written[field], kept[field]).map((rest) => `${field}.${rest}`)
      : [field],
  );
}
