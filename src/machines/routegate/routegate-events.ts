/** Events of the routegate chart: of the world, of its own effects, and of people. */
import type { StatusSaid } from '../said.ts';
import type { EffectSettled } from '../stamp.ts';
import type { GateFindings, RouteGateFacts } from './routegate-facts.ts';

export type RouteGateRefused = {
  readonly type: 'routegate.refused';
  /** gone: the object does not exist or is another one; error: anything else. */
  readonly reason: 'gone' | 'error';
  readonly message: string;
  /** Of a look; absent: of a write. */
  readonly look?: number;
};

export type RouteGateEvent =
  /** An observation of the RouteGate, or of the Pods it holds; null when it no longer exists. */
  | {
      readonly type: 'routegate.observed';
      readonly facts: RouteGateFacts | null;
    }
  /** What the status of the object says at present (saidIn). */
  | { readonly type: 'routegate.status.observed'; readonly facts: StatusSaid }
  /** The findings of a look, and the token at its start. */
  | {
      readonly type: 'routegate.counted';
      readonly look: number;
      readonly stirred: string;
      readonly findings: GateFindings;
    }
  /** The status says what the actor requested. */
  | { readonly type: 'routegate.reported' }
  | RouteGateRefused
  /** A person asks to count again from scratch. */
  | { readonly type: 'routegate.recheck' }
  | EffectSettled;
