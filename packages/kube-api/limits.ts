/** Every bound of the development API server in one place, with its reason. */
export const apiLimits = {
  /** One request body, bytes; Kubernetes' own bound (3 MiB). */
  requestBytes: 3 * 1024 * 1024,
  /**
   * Bytes that a watch may leave unread before it is cut off; a list of 1,000 Pods
   * fits.
   */
  watchWaitingBytes: 16 * 1024 * 1024,
  /**
   * Changes of one resource that a watch can be resumed from; minutes at hundreds of
   * writes a second are not needed, seconds are.
   */
  historyChanges: 4_096,
  /**
   * An idle connection is kept so long, ms; longer than any client of ours pauses, so
   * none is closed under a request.
   */
  keepAliveMs: 120_000,
  /** Objects that one of its controllers looks at before it lets requests pass. */
  controllerBatch: 256,
} as const;
