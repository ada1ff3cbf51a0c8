/** A kind of actors: its chart, what it is told, what may be said to it, and who does what it asks for. */

import { literal, type ObjectEntries, type ObjectSchema, object } from 'valibot';
import type { AnyStateMachine } from 'xstate';
import type { KindMessages, Schemas } from '../actors/admission.ts';
import { featureLimits } from '../actors/feature-limits.ts';
import { OrreryError } from '../base/errors.ts';
import type { Chart } from '../machines/chart.ts';
import type { EffectDeclaration } from '../machines/effect.ts';
import type { AnyDeclared, Effect } from './effect.ts';
import type { JoinOf } from './join.ts';

/** Fields of a message, without its type: `v.object({ reason: v.string() })`. */
export type MessageFields = ObjectSchema<ObjectEntries, undefined>;

export interface KindOptions
  extends Pick<
    Chart,
    | 'shortName'
    | 'version'
    | 'description'
    | 'migrations'
    | 'merge'
    | 'quiet'
    | 'deferrable'
    | 'moves'
    | 'leaps'
    | 'tell'
  > {
  /** One word of a-z, 0-9 and hyphens: the first part of its actors' ids, and of the names of its events. */
  readonly name: string;
  /** Its input is `ActorInput`; its actions are assignments, `raise`, `cancel`, and effects. */
  readonly machine: AnyStateMachine;
  readonly effects?: readonly AnyDeclared[];
  /** What the world says to it; absent: only messages bring its actors into being (`createdBy`). */
  readonly join?: JoinOf;
  /** Messages that bring an actor into being. */
  readonly createdBy?: readonly string[];
  /** By type: what people and programs may send (`orrery send`). */
  readonly messages?: Readonly<Record<string, MessageFields>>;
  /** By type: what other actors may say (`message`), and nobody else. */
  readonly internal?: Readonly<Record<string, MessageFields>>;
  /** Whether the sender of an internal message may say it; absent: every actor may. */
  readonly holds?: KindMessages['holds'];
}

export interface Kind {
  readonly chart: Chart;
  readonly messages: KindMessages;
  readonly join: JoinOf | null;
  /** Those that the feature itself runs. */
  readonly effects: readonly Effect[];
}

/** @throws OrreryError USAGE for a message whose fields are no plain `v.object` */
export function defineKind(options: KindOptions): Kind {
  const {
    name,
    machine,
    effects = [],
    join = null,
    createdBy = [],
    messages = {},
    internal = {},
    holds,
    ...chart
  } = options;
  // A chart that goes round for ever would hold its replica: it fails instead, and parks its actor.
  const { maxIterations = Number.POSITIVE_INFINITY } = machine.options ?? {};
  Object.assign(machine, {
    options: { ...machine.options, maxIterations: Math.min(maxIterations, featureLimits.microsteps) },
  });
  return {
    chart: {
      ...chart,
      name,
      machine,
      durable: true,
      createdBy: [...(join === null ? [] : [`${name}.observed`]), ...createdBy],
      effects: effects as readonly EffectDeclaration[],
    },
    messages: {
      public: schemasOf(name, messages),
      internal: schemasOf(name, internal),
      ...(holds ? { holds } : {}),
    },
    join,
    effects: effects.filter(isRunnable),
  };
}

/** The engine runs the others. */
export function isRunnable(declared: AnyDeclared): declared is Effect {
  return 'run' in declared && typeof declared.run === 'function';
}

function schemasOf(kind: string, messages: Readonly<Record<string, MessageFields>>): Schemas {
  return Object.fromEntries(
    Object.entries(messages).map(([type, fields]) => {
      if (fields?.type !== 'object' || 'pipe' in fields)
        throw new OrreryError(
          'USAGE',
          `kind ${kind}: the schema of ${type} is no plain v.object({…}) of its fields`,
        );
      return [type, object({ ...fields.entries, type: literal(type) })];
    }),
  ) as Schemas;
}
