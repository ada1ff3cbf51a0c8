/** Events of the routegate chart: of the world, of its own effects, and of people. */
import type { EffectSettled } from '../stamp.ts';
import type { GateFindings, RouteGateFacts } from './routegate-facts.ts';

/** The world has news of the RouteGate, or of what it holds; null when it does not exist any more. */
export type RouteGateObserved = {
  readonly type: 'routegate.observed';
  readonly facts: RouteGateFacts | null;
};

/** What a look found, and the token that stood when it began. */
export type RouteGateCounted = {
  readonly type: 'routegate.counted';
  readonly look: number;
  readonly stirred: string;
  readonly findings: GateFindings;
};

/** The status says what the actor asked it to say. */
export type RouteGateReported = { readonly type: 'routegate.reported' };
export type RouteGateRefused = {
  readonly type: 'routegate.refused';
  /** gone: the object is not there or is another one; error: anything else. */
  readonly reason: 'gone' | 'error';
  readonly message: string;
  /** Of a look; absent: of a write. */
  readonly look?: number;
};

/** A person asks to look again, as if the actor had just been made. */
export type RouteGateRecheck = { readonly type: 'routegate.recheck' };

export type RouteGateEvent =
  | RouteGateObserved
  | RouteGateCounted
  | RouteGateReported
  | RouteGateRefused
  | RouteGateRecheck
  | EffectSettled;
