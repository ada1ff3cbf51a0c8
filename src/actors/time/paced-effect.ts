/**
 * Effects of a loaded feature begin while it has a share of the replica left, and are charged to it: pace.ts.
 */
import type { PlainEvent } from '../../base/plain-event.ts';
import { type MessageSend, messageSend } from '../../machines/effects.ts';
import type { EffectContext, RunnableEffect } from '../effect-runner.ts';
import type { EffectData } from '../host/step.ts';
import type { Pace } from './pace.ts';

/** Messages that were waited for once, and are sent at once when they are tried again. */
const paid = new WeakSet<object>();

/** @param pace of the actor's feature; undefined: it is one of the program's own */
export async function pacedEffect(
  pace: Pace | undefined,
  effect: EffectData,
  context: EffectContext,
  run: RunnableEffect['run'],
): Promise<PlainEvent> {
  if (pace === undefined) return run(effect, context);
  if (isMessage(effect) && !paid.has(effect)) {
    paid.add(effect);
    const sending = pace.messages(effect.to.length);
    if (sending) await sending;
  }
  return pace.inTurn(() => {
    context.signal.throwIfAborted();
    return run(effect, context);
  });
}

const isMessage = (effect: EffectData): effect is EffectData & MessageSend =>
  effect.type === messageSend.type && Array.isArray(effect.to);
