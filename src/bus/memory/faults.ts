/** The faults that a simulation can inject into one client of the memory bus. By default there are none. */

/** What happens to an append. */
export type AppendFate =
  | 'store'
  /** Stored, but the answer never comes: BUS_UNKNOWN_OUTCOME. */
  | 'answerLost'
  /** Never reaches the stream: also BUS_UNKNOWN_OUTCOME, because the client cannot tell the difference. */
  | 'requestLost'
  /** Not stored, and the client is told: BUS_REFUSED. */
  | 'refuse'
  /** Not stored because the store is full: BUS_UNKNOWN_OUTCOME, as for any internal error of a server. */
  | 'full'
  /**
   * Reaches the stream only after this delay, possibly after its sender gave up. Its guard is checked then.
   */
  | { readonly lateMs: number };

/** What happens to a message that is not stored, for each receiver. */
export type CoreFate = 'deliver' | 'lose' | 'duplicate' | { readonly delayMs: number };

/**
 * up: everything passes. down: disconnected, and the client knows (`status` is disconnected). silent:
 * disconnected, and neither side knows yet; messages are lost and answers never come. Following continues
 * without a gap once the link is up again.
 */
export type LinkState = 'up' | 'down' | 'silent';

export interface MemoryFaults {
  readonly link: LinkState;
  setLink(link: LinkState): void;
  onAppend: ((subject: string) => AppendFate) | undefined;
  /** Called for each core message (requests and answers included) before this client receives it. */
  onReceive: ((subject: string) => CoreFate) | undefined;
}
