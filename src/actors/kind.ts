/**
 * A kind of actors as a feature declares it: its chart, and what may be said to its actors.
 *
 * Promises: every feature declares its kinds by this one form, whoever wrote it; a message is declared by its
 * fields alone, and its type is the name under which it stands. Absent: who is let in (admission.ts).
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
 * Fields of a message, without its type: `v.object({ reason: v.string() })`, and in words what it does:
 * `v.pipe(v.object({…}), v.description('drains it now'))`.
 */
export type MessageFields =
  | Fields
  | SchemaWithPipe<readonly [Fields, DescriptionAction<Record<string, unknown>, string>]>;

/** What may be said to the actors of a kind. Everything else comes from the host, and from nobody outside. */
export interface MessageOptions {
  /** By type: what people and programs may send (`orrery send`). */
  readonly messages?: Readonly<Record<string, MessageFields>>;
  /** By type: what other actors may say (`message`), and nobody else. */
  readonly internal?: Readonly<Record<string, MessageFields>>;
  /**
   * Whether the sender holds what the internal message speaks of; absent: every actor may say all of them.
   */
  readonly holds?: (event: PlainEvent, parties: Parties) => boolean;
  /** The last word on an admitted message. @throws OrreryError MESSAGE_UNKNOWN_EVENT */
  readonly refine?: (event: PlainEvent, origin: Origin) => PlainEvent;
}

/** Who says an internal message to whom. */
export interface Parties {
  readonly from: Party;
  readonly to: Party;
}

export interface Party extends ActorName {
  readonly id: ActorId;
}

/** Where a message comes from, as far as admission cares. */
export interface Origin {
  /** When Orrery or its stream got it, milliseconds since the epoch. */
  readonly receivedAt: number;
  /** It came by a request subject. */
  readonly isTrusted: boolean;
  /**
   * A replica says so: the actor that speaks, and the one that is spoken to. Absent: somebody
   * outside speaks.
   */
  readonly between?: { readonly from: ActorId; readonly to: ActorId };
}

export type Schemas = Readonly<Record<string, GenericSchema<unknown, PlainEvent>>>;

/** The same with a schema for each whole message. */
export interface KindMessages extends Pick<MessageOptions, 'holds' | 'refine'> {
  readonly public: Schemas;
  readonly internal: Schemas;
}

export interface DeclaredKind {
  readonly chart: Chart;
  /** Absent: another feature with the chart says it, or the kind has no actors with a mailbox. */
  readonly messages?: KindMessages;
}

/** @throws OrreryError USAGE for a message whose fields are no plain `v.object` */
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
