/**
 * What has to be done to the record of an earlier version of a chart before the present one can take it up.
 *
 * Owns: one step for each version that a chart ever had, from it to the next. Promises: pure; a record goes through all steps between
 * its version and the present one; the stored record stays as it is until the actor's next step is saved.
 * Absent: records of later versions, which are parked untouched; deadlines, whose ids are names of states: a step that renames a
 * state with a deadline has to be taken by a state that sets it anew.
 */
import { noSlices } from './service/slices-context.ts';

/** The part of a record that belongs to the chart. */
export interface StoredState {
  readonly value: unknown;
  readonly context: unknown;
}

/** From the version under which it stands to the next. */
type Step = (stored: StoredState) => StoredState;

const steps: Readonly<Record<string, Readonly<Record<number, Step>>>> = {
  service: { 1: withSlices },
};

/** @throws Error if a step is missing: the record cannot be taken up */
export function migrate<S extends StoredState>(machine: string, stored: S, from: number, to: number): S {
  let state = stored;
  for (let version = from; version < to; version++) {
    const step = steps[machine]?.[version];
    if (step === undefined) throw new Error(`no step leads on from version ${version}`);
    state = { ...state, ...step(state) };
  }
  return state;
}

/** Version 2 keeps EndpointSlices; in version 1 that region stood in `ignored` and remembered nothing. */
function withSlices({ value, context }: StoredState): StoredState {
  return { value, context: { ...(context as object), slices: noSlices } };
}
