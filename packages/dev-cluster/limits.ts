/** Every bound of the development cluster in one place, with its reason. */
export const clusterLimits = {
  /** Objects in one page of a list; the page size of Kubernetes' own informers. */
  listPage: 500,
  /**
   * The server ends a watch after this many seconds; within the 5 to 10 minutes of Kubernetes' own informers.
   */
  watchSeconds: 300,
  /** Longest pause before a retry, ms; short, because a person is watching. */
  retryMaxMs: 2_000,
  /** Keys that one controller reconciles at the same time. */
  reconcilesInFlight: 16,
  /** Deleted objects that an informer remembers, against late answers to its own writes. */
  tombstones: 1_000,
  /** Pods of one kubelet stand-in; each holds a few sockets of this process. */
  podsMax: 1_100,
  /** Time within which a local server must say how it is, ms. */
  connectMs: 1_000,
  /**
   * Time within which a connection to a backend must open, ms. Backends are local and refuse at once if
   * nobody listens: only a busy machine takes long.
   */
  backendConnectMs: 10_000,
  /** Requests of the load client in flight; more are counted as lost. */
  loadInFlight: 4_000,
  /** A child process that has not ended this long after SIGTERM is killed, ms (a replica needs under 5 s). */
  stopMs: 8_000,
  /** Time that a part has to come up (API server, NATS, a replica's /readyz), ms. */
  startMs: 30_000,
} as const;
