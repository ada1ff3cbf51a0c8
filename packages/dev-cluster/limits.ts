/** Every bound of the development cluster in one place, with its reason. */
export const clusterLimits = {
  /** Objects in one page of a list; the page size of Kubernetes' own informers. */
  listPage: 500,
  /**
   * The server ends a watch after so many seconds; within the 5 to 10 minutes of
   * Kubernetes' own informers.
   */
  watchSeconds: 300,
  /**
   * Longest pause before something is tried again, ms; short, for a person is watching.
   */
  retryMaxMs: 2_000,
  /** Keys that one controller reconciles at the same time. */
  reconcilesInFlight: 16,
  /** Deleted objects that an informer remembers, against late answers to own writes. */
  tombstones: 1_000,
  /** Pods of one kubelet stand-in; each holds a few sockets of this process. */
  podsMax: 1_100,
  /** A local server that is asked how it is must answer within this time, ms. */
  connectMs: 1_000,
  /**
   * A connection to a backend must be open within this time, ms. It is local, and where nobody listens it is
   * refused at once: whoever waits waits for a busy machine.
   */
  backendConnectMs: 10_000,
  /** Requests of the load client in flight; more are counted as lost. */
  loadInFlight: 4_000,
  /**
   * A child process that does not end after SIGTERM within this time is killed, ms (a
   * replica needs under 5 s).
   */
  stopMs: 8_000,
  /**
   * A part that must come up (API server, NATS, a replica's /readyz) has so long, ms.
   */
  startMs: 30_000,
} as const;
