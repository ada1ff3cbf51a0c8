/**
 * A holding: anything that one replica at a time may work on, such as a shard of actors or a watch
 * (ownership.ts).
 */
import type { PlainEvent } from '../../base/plain-event.ts';
import type { StreamName } from '../../bus/bus.ts';
import type { HoldingEffect } from '../../machines/shard/shard.ts';
import type { LocalActor } from '../host/local.ts';

/** What the owner of a holding does. */
export interface Work {
  /** Prepares to work; rejects if that is impossible now. */
  load(fence: number, signal: AbortSignal): Promise<void>;
  open(fence: number): void;
  /** Finishes work cleanly. */
  drain(fence: number): Promise<void>;
  /** Stops work at once: another replica is the owner. */
  drop(fence: number): void;
}

/** A place where fences are stored. */
export interface FencePlace {
  readonly stream: StreamName;
  readonly subject: string;
  /**
   * The stream was recreated; the callee must call `streamMadeAnew`. Without this callback, that is called at
   * once.
   */
  readonly onAnother?: () => void;
}

export interface HoldingSpec {
  /** `shard/7`, `watch/pods` */
  readonly name: string;
  readonly stream: StreamName;
  readonly fenceSubject: string;
  /**
   * Whether this replica may hold it. Without this function, rendezvous hashing names one of the serving
   * replicas. With it, any replica that may hold it can claim it, and the first keeps it for as long as it
   * may.
   */
  readonly mayHold?: () => boolean;
  /**
   * The loaded feature to which it belongs. Only replicas with its wanted edition may hold it (editions.ts),
   * and its fence names the feature for the others.
   */
  readonly feature?: { readonly name: string; readonly kinds: readonly string[] };
  readonly work: Work;
  /** The holding was removed, and this replica has let go of it. */
  readonly onForgotten?: () => void;
}

export interface HoldingView {
  readonly name: string;
  /** The owner by the fence; null if there is none. */
  readonly owner: string | null;
  readonly fence: number;
  /** The state of this replica's own chart of the holding. */
  readonly state: string;
}

/** Does what the chart of a holding asks for. @param giveBack writes that nobody owns it */
export async function runWork(
  work: Work,
  { type, fence }: Exclude<HoldingEffect, { readonly type: 'holding.claim' }>,
  signal: AbortSignal,
  giveBack: () => Promise<unknown>,
): Promise<PlainEvent> {
  switch (type) {
    case 'holding.load':
      await work.load(fence, signal);
      return { type: 'holding.loaded', fence };
    case 'holding.open':
      work.open(fence);
      return { type: 'holding.opened' };
    case 'holding.drain':
      await work.drain(fence);
      return { type: 'holding.drained', fence };
    case 'holding.drop':
      work.drop(fence);
      return { type: 'holding.dropped' };
    case 'holding.release':
      // The next owner must find everything done under this fence when it claims, so work ends first.
      work.drop(fence);
      await giveBack();
      return { type: 'holding.released', fence };
  }
}

interface InHand {
  readonly chart: Pick<LocalActor, 'state' | 'send'>;
}

export const isGivenBack = ({ chart }: InHand): boolean => /draining|releasing/.test(chart.state());

/** A holding that is given back already is not told again: a replica that stops asks every 2 ms. */
export function withdraw(held: InHand): void {
  if (!isGivenBack(held)) held.chart.send({ type: 'holding.withdrawn' });
}
