/** The driver of the package (packages/testing/charts/chart-driver.ts), typed by the program's own kinds. */
import { ChartDriver } from '../../packages/testing/charts/chart-driver.ts';
import { machines } from '../chart-of.ts';
import type { Effect, EffectType } from './any-effect.ts';

type EffectOf<T extends EffectType> = Extract<Effect, { readonly type: T }>;

export interface PlainEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

export class ActorDriver<Event extends { readonly type: string }, Context> extends ChartDriver<
  Event,
  Context,
  Effect
> {
  constructor(kind: string, namespace: string, name: string) {
    const chart = machines[kind];
    if (!chart) throw new Error(`there is no ${kind} chart`);
    super(chart, namespace, name);
  }

  /** Those of one type; the others are forgotten, too. */
  askedOf<T extends EffectType>(type: T): EffectOf<T>[] {
    return this.asked().filter((effect): effect is EffectOf<T> => effect.type === type);
  }
}
