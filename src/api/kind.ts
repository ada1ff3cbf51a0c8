/** A kind of actors: its chart, its observations, its messages, and the runners of its effects. */

import type { AnyStateMachine } from 'xstate';
import { featureLimits } from '../actors/feature-limits.ts';
import { type DeclaredKind, kindOf, type MessageOptions } from '../actors/kind.ts';
import type { Chart } from '../machines/chart.ts';
import type { EffectDeclaration } from '../machines/effect.ts';
import type { AnyDeclared, Effect } from './effect.ts';
import type { JoinOf } from './join.ts';

export interface KindOptions
  extends MessageOptions,
    Omit<Chart, 'name' | 'machine' | 'effects' | 'createdBy' | 'durable' | 'led'> {
  /** One word of a-z, 0-9 and hyphens: the first part of its actors' ids and of its events' names. */
  readonly name: string;
  /** Its input is `ActorInput`; its actions are assignments, `raise`, `cancel`, and effects. */
  readonly machine: AnyStateMachine;
  readonly effects?: readonly AnyDeclared[];
  /** What the world tells it; absent: only messages create its actors (`createdBy`). */
  readonly join?: JoinOf;
  /** Messages that create an actor. */
  readonly createdBy?: readonly string[];
}

export interface Kind extends Required<DeclaredKind> {
  readonly join: JoinOf | null;
  /** The effects that the feature itself runs. */
  readonly effects: readonly Effect[];
}

/** @throws OrreryError USAGE if a message's fields are no plain `v.object` */
export function defineKind(options: KindOptions): Kind {
  const { name, machine, effects = [], join = null, createdBy = [], ...others } = options;
  const { messages: _m, internal: _i, holds: _h, refine: _r, ...chart } = others;
  // An endless loop in a chart would block its replica: this makes it fail, which parks its actor.
  const { maxIterations = Number.POSITIVE_INFINITY } = machine.options ?? {};
  Object.assign(machine, {
    options: { ...machine.options, maxIterations: Math.min(maxIterations, featureLimits.microsteps) },
  });
  const whole: Chart = {
    ...chart,
    name,
    machine,
    durable: true,
    createdBy: [...(join === null ? [] : [`${name}.observed`]), ...createdBy],
    effects: effects as readonly EffectDeclaration[],
  };
  return { ...kindOf(whole, options), join, effects: effects.filter(isRunnable) };
}

/** The engine runs the others. */
export function isRunnable(declared: AnyDeclared): declared is Effect {
  return 'run' in declared && typeof declared.run === 'function';
}
