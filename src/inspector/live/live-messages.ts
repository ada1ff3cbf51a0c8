/**
 * The messages on `/api/v1/inspect`, one JSON object each. Types only; the page uses them too.
 *
 * The client says what it wants to see, as often as that changes; the server sends the present state and then
 * the changes.
 */
import type { ActorId, ShardName } from '../../base/ids.ts';
import type {
  ActorView,
  DeadLetter,
  LiveRow,
  LiveStep,
  ReplicaTroubles,
  ShardsView,
} from '../../base/views.ts';

/** From the client. */
export interface LiveRequest {
  /** Whether it wants the rows of all actors, replicas and shards. */
  readonly rows: boolean;
  /** The actor whose steps it wants; null: none. */
  readonly actor: ActorId | null;
  /** The kind whose rows it wants with their facts; absent: none. */
  readonly facts?: string | null;
}

/** The cluster at a moment. */
export interface ClusterNow extends ShardsView {
  /** The replica's wall time, ms since the epoch. */
  readonly now: number;
  /** Whether every actor is included. */
  readonly isWhole: boolean;
  /** Shards that nobody answered for. */
  readonly missingShards: readonly ShardName[];
  /** Replicas about which an operator should know something; absent from an earlier release. */
  readonly troubles?: readonly ReplicaTroubles[];
  readonly deadLetters: { readonly count: number; readonly newest: readonly DeadLetter[] };
}

/** From the server. */
export type LiveMessage =
  | { readonly type: 'hello'; readonly replica: string; readonly release: string; readonly now: number }
  /** New or changed rows; for an ended actor only the id. */
  | { readonly type: 'rows'; readonly rows: readonly LiveRow[]; readonly ended: readonly ActorId[] }
  | ({ readonly type: 'cluster' } & ClusterNow)
  /** The watched actor; null: there is none. */
  | { readonly type: 'actor'; readonly id: ActorId; readonly actor: Omit<ActorView, 'recent'> | null }
  | ({ readonly type: 'step' } & LiveStep)
  /**
   * Every second, whatever else is sent: the feed is alive. `asOf`: when the replica last heard from the
   * others, ms since the epoch; 0: not yet.
   */
  | { readonly type: 'beat'; readonly now: number; readonly asOf: number }
  /** Something failed. */
  | { readonly type: 'problem'; readonly message: string };
