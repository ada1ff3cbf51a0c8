/** What is said to a proxier: by the service proxy of a node, and by the router about the Node. */
import type { IpFamily } from '../../base/address.ts';

/** The node's proxy received a change for the family and has not applied it yet. */
export type ProxierQueued = {
  readonly type: 'proxier.queued';
  readonly family: IpFamily;
  /**
   * When that was, milliseconds since the epoch; absent: now. Admission fills it in
   * (features/proxiers/messages.ts).
   */
  readonly happenedAt?: number;
};
/** The node's proxy has applied everything for the family. */
export type ProxierUpdated = {
  readonly type: 'proxier.updated';
  readonly family: IpFamily;
  readonly happenedAt?: number;
};
/**
 * How the family stands: a level, repeated until it was taken, so that a lost one is made good by the next.
 */
export type ProxierReported = {
  readonly type: 'proxier.reported';
  readonly family: IpFamily;
  /** Since when the oldest change waits, by the sender's clock; null: none does. */
  readonly queuedAt: number | null;
  /** When everything was applied last, by the sender's clock; null: never. */
  readonly updatedAt: number | null;
  readonly seq: number;
  /** When it was received; absent: now. */
  readonly happenedAt?: number;
  /** Its times are believed. */
  readonly isTimed?: boolean;
};
/** The world has news of the Node, or the replica's setting is another one. */
export type ProxierObserved = { readonly type: 'proxier.observed'; readonly facts: ProxierFacts };
/** Raised by the chart itself: nobody needs the actor any more. */
export type ProxierForgotten = { readonly type: 'proxier.forgotten' };

export interface ProxierFacts {
  /** `--proxier-health-timeout`, milliseconds. */
  readonly timeoutMs: number;
  /**
   * ineligible: it is being deleted or the autoscaler marked it; absent: there is no such Node; unknown:
   * Nodes are not listed yet.
   */
  readonly node: 'eligible' | 'ineligible' | 'absent' | 'unknown';
}

export type ProxierEvent =
  | ProxierQueued
  | ProxierUpdated
  | ProxierReported
  | ProxierObserved
  | ProxierForgotten;
