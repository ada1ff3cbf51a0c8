/** What a simulation may do to one client of the memory bus. By default, everything arrives. */

/** What becomes of an append. */
export type AppendFate =
  | 'store'
  /** Stored, but the answer never comes: BUS_UNKNOWN_OUTCOME. */
  | 'answerLost'
  /** Never reaches the stream: BUS_UNKNOWN_OUTCOME as well, the client cannot tell. */
  | 'requestLost'
  /** Not stored, and the client is told: BUS_REFUSED. */
  | 'refuse'
  /** Not stored, since there is no room: BUS_UNKNOWN_OUTCOME, as a server's own trouble is. */
  | 'full'
  /** Reaches the stream only after so long, perhaps after its sender gave up; the guard is looked at then. */
  | { readonly lateMs: number };

/** What becomes of a message that is not stored, at each of its receivers. */
export type CoreFate = 'deliver' | 'lose' | 'duplicate' | { readonly delayMs: number };

/**
 * up: everything passes. down: cut, and the client knows (`status` is disconnected). silent: cut, and neither
 * side knows yet; what is sent is gone, answers never come, and following goes on without a gap once it is up
 * again.
 */
export type LinkState = 'up' | 'down' | 'silent';

export interface MemoryFaults {
  readonly link: LinkState;
  setLink(link: LinkState): void;
  /** Asked for each append of this client. */
  onAppend: ((subject: string) => AppendFate) | undefined;
  /** Asked for each core message (also requests and answers) that this client is to receive. */
  onReceive: ((subject: string) => CoreFate) | undefined;
}
