/**
 * Starts effects of a loaded feature only while its share of the replica lasts, and charges them to it
 * (pace.ts).
 */
import type { PlainEvent } from '../../base/plain-event.ts';
import { type MessageSend, messageSend } from '../../machines/effects.ts';
import type { EffectContext, RunnableEffect } from '../effect-runner.ts';
import type { EffectData } from '../host/step.ts';
import type { Pace } from './pace.ts';

/** Messages that already waited; a retry sends them at once. */
const paid = new WeakSet<object>();

/** @param pace of the actor's feature; undefined: a built-in feature */
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
