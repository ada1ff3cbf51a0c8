/**
 * The request of `rpc.list`, as anybody may send it. A field that could match nothing is refused: an empty
 * list would read as "there are none". A limit above `limits.listActors` counts as that many; `next` goes on.
 */
import { notAllowed } from '../../base/config-values.ts';
import { attempt } from '../../base/errors.ts';
import { parseActorId } from '../../base/ids.ts';
import { healths, type ListRequest } from '../../base/views.ts';
import type { BusMessage } from '../../bus/bus.ts';
import type { Chart } from '../../machines/chart.ts';
import { isInState, statePaths } from '../../machines/state-names.ts';
import { type Field, positiveNumber, readFields, text, unreadable } from './request-fields.ts';

const fields: Readonly<Record<string, Field>> = {
  kind: text,
  namespace: text,
  state: text,
  after: text,
  health: { allowed: 'ok, waiting or wrong', test: (value) => healths.some((one) => one === value) },
  facts: { allowed: 'true or false', test: (value) => typeof value === 'boolean' },
  limit: positiveNumber,
};

/** The kinds whose actors are listed. */
export interface ListedKinds {
  isKind(kind: string): boolean;
  /** Every chart of the kind, or of all kinds; null: some are on other replicas only, or nowhere. */
  chartsOf(kind: string | undefined): readonly Chart[] | null;
}

/** @throws OrreryError MESSAGE_UNREADABLE, or USAGE for an unknown state: the field and what is allowed */
export function readListRequest(message: BusMessage, kinds: ListedKinds): ListRequest {
  const request = readFields(message, fields) as ListRequest;
  const { kind, state, after } = request;
  if (kind !== undefined && !kinds.isKind(kind)) throw unreadable(`there is no kind "${kind}"`);
  if (after !== undefined) parseActorId(after);
  if (state !== undefined) refuseUnknownState(state, kind, kinds.chartsOf(kind));
  return request;
}

/** The same as another replica passes it on, which has read it. @returns null: anything else */
export const readPeerRequest = (message: BusMessage): ListRequest | null =>
  attempt(() => readFields(message, fields) as ListRequest, null);

function refuseUnknownState(state: string, kind: string | undefined, charts: readonly Chart[] | null): void {
  if (charts === null || state === 'parked') return;
  const paths = charts.flatMap(statePaths);
  // A state of several regions is named by all of them, with commas between.
  if (state.split(',').every((region) => paths.some((path) => isInState(path, region)))) return;
  const names = [...new Set(paths.flatMap((path) => path.split('.')))].sort().join(', ');
  throw notAllowed(
    'state',
    state,
    kind === undefined ? 'a state of some kind (with a kind, its states are listed here)' : names,
  );
}
