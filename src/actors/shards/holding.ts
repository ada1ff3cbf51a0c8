/**
 * A holding: anything that one replica at a time may work on, as a shard of actors or a watch (ownership.ts).
 */
import type { StreamName } from '../../bus/bus.ts';

/** What the owner of a holding does. */
export interface Work {
  /** Makes ready to work; rejects if it cannot be done now. */
  load(fence: number, signal: AbortSignal): Promise<void>;
  open(fence: number): void;
  /** Ends work in good order. */
  drain(fence: number): Promise<void>;
  /** Ends work at once: another replica is the owner. */
  drop(fence: number): void;
}

/** Where fences stand. */
export interface FencePlace {
  readonly stream: StreamName;
  readonly subject: string;
  /** The stream was recreated; whoever is told calls `streamMadeAnew`. Absent: that is called at once. */
  readonly onAnother?: () => void;
}

export interface HoldingSpec {
  /** `shard/7`, `watch/pods` */
  readonly name: string;
  readonly stream: StreamName;
  readonly fenceSubject: string;
  /**
   * Whether this replica may hold it. Absent: the one that rendezvous hashing names among those that serve.
   * Present: any that may, so that whoever claims first has it, until it may not any more.
   */
  readonly mayHold?: () => boolean;
  /**
   * The loaded feature to which it belongs: only replicas with the wanted edition of it may hold it
   * (editions.ts), and its fence names the feature for those that do not have it.
   */
  readonly feature?: { readonly name: string; readonly kinds: readonly string[] };
  readonly work: Work;
  /** It was removed, and this replica has let go of it. */
  readonly onForgotten?: () => void;
}

export interface HoldingView {
  readonly name: string;
  /** The owner as the fence says; null if nobody is. */
  readonly owner: string | null;
  readonly fence: number;
  /** State of this replica's own chart of the holding. */
  readonly state: string;
}
