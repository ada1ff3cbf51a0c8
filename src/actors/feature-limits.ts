/**
 * Bounds of the features that a replica loads (`--feature`), each with its reason (I6): what somebody else
 * wrote may hurt its own actors, and nobody else's.
 */
export const featureLimits = {
  /**
   * Parts into which the actors of one feature are dealt: as many replicas can share them, and a start claims
   * few enough of them to take no time.
   */
  parts: 16,
  /** Of one effect of a loaded feature at a time in one replica, if it names no other. */
  effectsInFlight: 16,
  /** The same at most: a feature leaves sockets and memory to the others. */
  effectsInFlightMax: 64,
  /** An effect of a loaded feature may take so long at most, ms: what takes longer is asked for again. */
  effectMs: 900_000,
  /**
   * Runs of an effect of a loaded feature that may be left behind when their time is over, for each that may
   * be in flight: what heeds no signal must not fill the memory.
   */
  runsLeft: 4,
  /** Transitions of a chart that follow from one event: more than that go round for ever. */
  microsteps: 1_000,
  /**
   * A call of a feature's code that is under suspicion is interrupted after so long, ms: calls take
   * microseconds, on a busy machine milliseconds.
   */
  callMs: 250,
  /**
   * What was interrupted fails at once for so long after it, ms: however many actors of a feature call the
   * same code, it holds their replica for a tenth of the time.
   */
  callAgainMs: 2_500,
  /**
   * How long a feature stays under suspicion after the last sign, ms: twice the time after which what failed
   * comes again.
   */
  careMs: 600_000,
  /** Bytes that a loaded feature keeps of one object: every replica holds all of them in memory. */
  digestBytes: 16 * 1024,
  /** Body of an answer that the `http` effect of a feature keeps, bytes: it goes into a record. */
  answerBytes: 64 * 1024,
  /**
   * Of each second, so much of a replica's thread may go to one feature, ms. What others do takes fractions
   * of a millisecond, so a thread that is free for four fifths of the time leaves their latency as it is.
   */
  shareMs: 200,
  /**
   * What a feature did not use of it is saved up to so much, ms: for so long at most others wait for a burst.
   */
  shareSavedUpMs: 50,
  /**
   * What a saved step is charged with beside its time, ms: its acknowledgement, and its place in the feed.
   */
  stepMs: 0.05,
  /**
   * Bytes of a saved record that are charged with 1 ms: at 4 MB a second a server still answers everybody
   * else at once.
   */
  recordBytesPerMs: 16 * 1024,
  /**
   * Messages that the actors of one feature in one replica may send at once: each is stored, read, taken and
   * saved by somebody.
   */
  messagesSavedUp: 100,
  /** Messages each second after that. */
  messagesPerSecond: 250,
} as const;
