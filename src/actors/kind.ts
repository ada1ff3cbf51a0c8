/**
 * A kind of actors as a feature declares it: its chart, and the messages that its actors accept.
 *
 * Promises: every feature declares its kinds in this one form; a message is declared by its fields, under its
 * type. Absent: who may send a message (admission.ts).
 */
import {
  type DescriptionAction,
  description,
  type GenericSchema,
  literal,
  type ObjectEntries,
  type ObjectSchema,
  object,
  pipe,
  type SchemaWithPipe,
} from 'valibot';
import { OrreryError } from '../base/errors.ts';
import type { ActorId, ActorName } from '../base/ids.ts';
import type { PlainEvent } from '../base/plain-event.ts';
import type { Chart } from '../machines/chart.ts';

type Fields = ObjectSchema<ObjectEntries, undefined>;

/**
 * The fields of a message, without its type: `v.object({ reason: v.string() })`, optionally with a
 * description: `v.pipe(v.object({…}), v.description('drains it now'))`.
 */
export type MessageFields =
  | Fields
  | SchemaWithPipe<readonly [Fields, DescriptionAction<Record<string, unknown>, string>]>;

/**
 * The messages that actors of a kind accept. All other events come from the host, and never from outside.
 */
export interface MessageOptions {
  /** By type: messages that people and programs may send (`orrery send`). */
  readonly messages?: Readonly<Record<string, MessageFields>>;
  /** Whether the sender owns what an internal message is about; absent: every actor may send all of them. */
  readonly internal?: Readonly<Record<string, MessageFields>>;
  /**
   * Whether the sender is entitled to an internal message's content; absent: every actor may send all of
   * them.
   */
  readonly holds?: (event: PlainEvent, parties: Parties) => boolean;
  /**
   * A final check and completion of an admitted message.
   *
   * @throws OrreryError MESSAGE_UNKNOWN_EVENT
   */
  readonly refine?: (event: PlainEvent, origin: Origin) => PlainEvent;
}

/** The sender and the receiver of an internal message. */
export interface Parties {
  readonly from: Party;
  readonly to: Party;
}

export interface Party extends ActorName {
  readonly id: ActorId;
}

/** The origin of a message, as far as admission needs it. */
export interface Origin {
  /** When Orrery or its stream received it, milliseconds since the epoch. */
  readonly receivedAt: number;
  /** It came over a request subject. */
  readonly isTrusted: boolean;
  /** The sending and the receiving actor, as a replica states; absent: the message came from outside. */
  readonly between?: { readonly from: ActorId; readonly to: ActorId };
  /** A person wrote it: a field that the message does not have is a slip of the pen, and refused. */
  readonly isByHand?: boolean;
}

export type Schemas = Readonly<Record<string, GenericSchema<unknown, PlainEvent>>>;

/** The same, with a schema for each whole message. */
export interface KindMessages extends Pick<MessageOptions, 'holds' | 'refine'> {
  readonly public: Schemas;
  readonly internal: Schemas;
}

export interface DeclaredKind {
  readonly chart: Chart;
  /** Absent: another feature with the same chart declares it, or its actors have no mailbox. */
  readonly messages?: KindMessages;
}

/** @throws OrreryError USAGE if a message's fields are no plain `v.object` */
export function kindOf(
  chart: Chart,
  { messages = {}, internal = {}, holds, refine }: MessageOptions,
): DeclaredKind & { readonly messages: KindMessages } {
  const schemas = { public: schemasOf(chart, messages), internal: schemasOf(chart, internal) };
  return { chart, messages: { ...schemas, ...(holds && { holds }), ...(refine && { refine }) } };
}

function schemasOf({ name }: Chart, messages: Readonly<Record<string, MessageFields>>): Schemas {
  return Object.fromEntries(
    Object.entries(messages).map(([type, fields]) => [type, wholeMessage(name, type, fields)]),
  );
}

function wholeMessage(kind: string, type: string, fields: MessageFields): Schemas[string] {
  const [, ...words] = fields && 'pipe' in fields ? fields.pipe : [fields];
  if (fields?.type !== 'object' || words.some((one) => one.type !== 'description'))
    throw new OrreryError(
      'USAGE',
      `kind ${kind}: the schema of ${type} is not a plain v.object({…}) of its fields`,
    );
  const { type: _, ...entries } = fields.entries;
  const whole = object({ type: literal(type), ...entries });
  const [told] = words;
  return told?.type === 'description' ? pipe(whole, description(told.description)) : whole;
}
