/**
 * What may come to an actor by mail or by `orrery send`: which events of which kind, and the form of their fields, as the features
 * declare them. Events that only the host makes (what the world says, outcomes of effects) are not admitted: nobody outside may tell an
 * actor what the world looks like.
 */
import { type GenericSchema, safeParse } from 'valibot';
import { OrreryError } from '../base/errors.ts';
import type { PlainEvent } from '../base/plain-event.ts';

export type Schemas = Readonly<Record<string, GenericSchema<unknown, PlainEvent>>>;

export interface KindMessages {
  /** What people and programs may send (`send.>`, `rpc.send`). */
  readonly public: Schemas;
  /** What actors say to one another. */
  readonly internal?: Schemas;
  /** The last word on an admitted message. @throws OrreryError MESSAGE_UNKNOWN_EVENT */
  readonly refine?: (event: PlainEvent, origin: Origin) => PlainEvent;
}

/** Where a message comes from, as far as admission cares. */
export interface Origin {
  /** When Orrery or its stream got it, milliseconds since the epoch. */
  readonly receivedAt: number;
  /** It came by a request subject. */
  readonly isTrusted: boolean;
}

export interface Admission {
  /** Event types that an actor of the kind takes from outside. */
  eventsOf(kind: string): readonly string[];
  /**
   * The event with exactly the fields that its schema knows.
   *
   * @throws OrreryError MESSAGE_UNKNOWN_KIND | MESSAGE_UNKNOWN_EVENT, saying what is wrong and what is allowed
   */
  admit(kind: string, event: PlainEvent, origin: Origin): PlainEvent;
}

/** @param messages of the features, by kind */
export function createAdmission(messages: Iterable<Readonly<Record<string, KindMessages>>>): Admission {
  const kinds = new Map([...messages].flatMap((own) => Object.entries(own)));
  const schemasOf = ({ public: open, internal = {} }: KindMessages): Schemas => ({ ...open, ...internal });
  return {
    eventsOf(kind) {
      const found = kinds.get(kind);
      return found === undefined ? [] : Object.keys(schemasOf(found));
    },
    admit(kind, event, origin) {
      const found = kinds.get(kind);
      if (!found)
        throw new OrreryError(
          'MESSAGE_UNKNOWN_KIND',
          `there are no actors of kind "${kind}" in this release`,
        );
      const admitted = parsed(kind, schemasOf(found), event);
      return found.refine?.(admitted, origin) ?? admitted;
    },
  };
}

function parsed(kind: string, schemas: Schemas, event: PlainEvent): PlainEvent {
  const schema = Object.hasOwn(schemas, event.type) ? schemas[event.type] : undefined;
  if (!schema) {
    throw new OrreryError(
      'MESSAGE_UNKNOWN_EVENT',
      `a ${kind} takes no event "${event.type}"; it takes ${Object.keys(schemas).join(', ')}`,
    );
  }
  const result = safeParse(schema, event);
  if (result.success) return result.output;
  const [issue] = result.issues;
  const path = issue.path?.map(({ key }) => String(key)).join('.') ?? '';
  throw new OrreryError('MESSAGE_UNKNOWN_EVENT', `field "${path}" of ${event.type}: ${issue.message}`);
}
