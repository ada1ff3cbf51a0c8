/** Every bound of the development API server in one place, with its reason. */
export const apiLimits = {
  /** One request body, bytes; Kubernetes' own bound (3 MiB). */
  requestBytes: 3 * 1024 * 1024,
  /** Bytes that a watch may leave unread before it is cut off; a list of 1,000 Pods fits. */
  watchWaitingBytes: 16 * 1024 * 1024,
  /**
   * Changes of one resource from which a watch can be resumed. That has to last for seconds, not for minutes,
   * at hundreds of writes a second.
   */
  historyChanges: 4_096,
  /**
   * How long an idle connection is kept, ms; longer than any client of ours pauses, so none is closed under a
   * request.
   */
  keepAliveMs: 120_000,
  /** Objects that one controller processes before it lets requests pass. */
  controllerBatch: 256,
} as const;
