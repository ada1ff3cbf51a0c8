/** The events of a proxier: from the service proxy of a node, and from the router about the Node. */
import type { IpFamily } from '../../base/address.ts';

export interface ProxierFacts {
  /** `--proxier-health-timeout`, milliseconds. */
  readonly timeoutMs: number;
  /**
   * ineligible: it is being deleted, or the autoscaler marked it; absent: there is no such Node; unknown:
   * Nodes are not listed yet.
   */
  readonly node: 'eligible' | 'ineligible' | 'absent' | 'unknown';
}

/**
 * The state of a family, as `rpc.send.proxier._.<node>` and `send.proxier._.<node>` take it; times in
 * milliseconds since the epoch, by the sender's clock. It is repeated until it was taken, so the next report
 * makes up for a lost one.
 */
export interface ProxierReport {
  readonly type: 'proxier.reported';
  readonly family: IpFamily;
  /** Since when the oldest change waits; null: none waits. */
  readonly queuedAt: number | null;
  /** When everything was last applied; null: never. */
  readonly updatedAt: number | null;
  readonly seq: number;
}

export type ProxierEvent =
  /** The node's proxy received a change for the family and has not applied it yet. */
  | {
      readonly type: 'proxier.queued';
      readonly family: IpFamily;
      /**
       * When that was, milliseconds since the epoch; absent: now. Admission fills it in
       * (features/proxiers/messages.ts).
       */
      readonly happenedAt?: number;
    }
  /** The node's proxy has applied everything for the family. */
  | {
      readonly type: 'proxier.updated';
      readonly family: IpFamily;
      readonly happenedAt?: number;
    }
  | (ProxierReport & {
      /** When it was received; absent: now. */
      readonly happenedAt?: number;
      /** Its times are trusted. */
      readonly isTimed?: boolean;
    })
  /** An observation: the Node has changed, or the replica's setting. */
  | { readonly type: 'proxier.observed'; readonly facts: ProxierFacts }
  /** Raised by the chart itself: the actor is no longer needed. */
  | { readonly type: 'proxier.forgotten' };
