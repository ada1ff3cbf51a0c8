/**
 * Bounds of the features that a replica loads (`--feature`), each with its reason (I6): code that somebody
 * else wrote may hurt its own actors only.
 */
export const featureLimits = {
  /**
   * Parts into which the actors of one feature are divided: up to this many replicas can share them, and few
   * enough to claim at a start without delay.
   */
  parts: 16,
  /**
   * Concurrent runs of one effect of a loaded feature in one replica, if the feature sets no other number.
   */
  effectsInFlight: 16,
  /** The most that a feature may set: it must leave sockets and memory to others. */
  effectsInFlightMax: 64,
  /** The longest that an effect of a loaded feature may take, ms; one that takes longer is run again. */
  effectMs: 900_000,
  /**
   * Abandoned runs of an effect, for each run that is allowed at a time: runs that ignore their signal must
   * not fill the memory.
   */
  runsLeft: 4,
  /** Steps of a chart that follow from one event; more than this is an endless loop. */
  microsteps: 1_000,
  /**
   * A call into a feature under suspicion is interrupted after this time, ms. Calls take microseconds, on a
   * busy machine milliseconds.
   */
  callMs: 250,
  /**
   * For this time after an interruption, ms, the same call fails at once: however many actors make it, it
   * holds their replica for a tenth of the time.
   */
  callAgainMs: 2_500,
  /**
   * How long a feature stays under suspicion after the last sign, ms: twice the time after which a failed
   * event is retried.
   */
  careMs: 600_000,
  /** Bytes that a loaded feature keeps of one object: every replica holds all of them in memory. */
  digestBytes: 16 * 1024,
  /** Bytes that the `http` effect keeps of an answer's body: it goes into a record. */
  answerBytes: 64 * 1024,
  /**
   * Share of each second of a replica's thread for one feature, ms. Other work takes fractions of a
   * millisecond, so a thread that is free four fifths of the time keeps its latency.
   */
  shareMs: 200,
  /** Unused share that a feature may save up, ms: a burst delays others for at most this long. */
  shareSavedUpMs: 50,
  /** Charge for a saved step beside its time, ms: for its acknowledgement and its place in the feed. */
  stepMs: 0.05,
  /**
   * Bytes of a saved record that cost 1 ms: at 4 MB a second, a server still answers everybody else at once.
   */
  recordBytesPerMs: 16 * 1024,
  /**
   * Burst of messages that the actors of one feature in one replica may send: each is stored, read, taken and
   * saved by somebody.
   */
  messagesSavedUp: 100,
  /** Messages per second after that. */
  messagesPerSecond: 250,
} as const;
