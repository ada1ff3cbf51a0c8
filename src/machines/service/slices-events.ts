/** Events of the Service chart's endpoints region. */

/**
 * News of the desired content of the Service's EndpointSlices, or of the slices; null when nothing in the
 * world calls for slices any more.
 */
export type EndpointsObserved = {
  readonly type: 'service.endpoints.observed';
  readonly facts: EndpointsFacts | null;
};

/**
 * How a pass left things: what the slices say (`made`), what they must say and how they are by now (as in
 * EndpointsFacts).
 */
export type PassEnd = {
  readonly pass: number;
  readonly made: string;
  readonly wanted: string;
  readonly standing: string;
  readonly empty: boolean;
  /** The newest resourceVersion among the Service's slices; '' if there are none. */
  readonly version: string;
  /** Creates, updates and deletes that were made. */
  readonly writes: number;
  /** Who else had written to the slices before the pass, as in `managedFields`; absent: nobody. */
  readonly editor?: string;
};

/** The slices are as they must be. `compactable`: half as many could hold the endpoints. */
export type SlicesReconciled = {
  readonly type: 'slices.reconciled';
  readonly compactable: boolean;
} & PassEnd;
/** Not all could be written. `end`: how things are now; null if that is not known. */
export type SlicesFailed = {
  readonly type: 'slices.failed';
  readonly pass: number;
  readonly message: string;
  /** How long the API server asked to wait, ms. */
  readonly retryAfterMs: number;
  readonly end: PassEnd | null;
};

/** Services, workloads and slices had not all been listed again: nothing was looked at or written. */
export type SlicesUnlisted = {
  readonly type: 'slices.unlisted';
  readonly pass: number;
};

export type SlicesEvent = EndpointsObserved | SlicesReconciled | SlicesFailed | SlicesUnlisted;

/** What a Service is told about its EndpointSlices: only tokens; a pass reads the rest when it runs. */
export interface EndpointsFacts {
  readonly uid: string;
  /** false: type ExternalName, or no selector; slices that remain have to go. */
  readonly selects: boolean;
  /** Changes whenever the desired content of the slices changes. */
  readonly wanted: string;
  /** Changes whenever the slices themselves change. */
  readonly standing: string;
  /** There is no slice of ours. */
  readonly empty: boolean;
  /** The `managed-by` of another controller that writes slices for the Service; '' if there is none. */
  readonly otherWriter: string;
}
