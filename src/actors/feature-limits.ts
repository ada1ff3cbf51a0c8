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
   * Steps of one feature in one replica that are saved up: a start with 20,000 actors goes through at once.
   */
  stepsSavedUp: 20_000,
  /** Steps each second after that. */
  stepsPerSecond: 1_000,
  /** The same of the messages that its actors send. */
  messagesSavedUp: 2_000,
  /** Messages each second after that. */
  messagesPerSecond: 250,
} as const;
