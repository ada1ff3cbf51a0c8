/**
 * What must hold for every chart, whatever it is for, found by a walk through all that its sample reaches: no
 * state is never entered, none waits without a deadline, none lacks words for people, and it makes no
 * difference whether an actor moves between two steps or stays.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Snapshot } from '../../../src/actors/host/step.ts';
import type { Chart } from '../../../src/machines/chart.ts';
import { undescribed } from '../../../src/machines/state-names.ts';
import {
  copyOf,
  declaredStates,
  type SampleEvent,
  type Situation,
  stamped,
  type Walk,
  walk,
} from './walk.ts';

/** Leads a walk through every state of a chart. */
export interface Sample {
  /** Absent: `<kind>/shop/a`. */
  readonly input?: object;
  readonly events: readonly SampleEvent[];
  /** Bound on the walk, if it reaches every state sooner than most; default 2,000. */
  readonly situationsMax?: number;
}

/** The most situations that are stepped twice, live and from a record; bounds the time that this takes. */
const movedMax = 400;

/**
 * Walks a chart and reports what is wrong with it, in words; empty if nothing is.
 *
 * @param samples each begins a walk of its own; together they must reach every state
 */
export function chartFindings(chart: Chart, samples: readonly Sample[]): string[] {
  const input = { id: `${chart.name}/shop/a`, namespace: 'shop', name: 'a' };
  const walks = samples.map(({ events, situationsMax, ...sample }) => ({
    events,
    ...walk(chart, sample.input ?? input, events, situationsMax),
  }));
  return [
    ...unreached(chart, walks),
    ...walks.flatMap(endless),
    ...undescribed(chart),
    ...walks.flatMap((one) => movedDifferently(one, one.events)),
    ...walks.flatMap(takesAnything),
  ].filter((text, index, all) => all.indexOf(text) === index);
}

/** States that no event of a sample and no deadline reaches. */
export function unreached(chart: Chart, walks: readonly Walk[]): string[] {
  const states = walks.flatMap((one) => [...one.states]);
  return declaredStates(chart)
    .filter((path) => !states.includes(path))
    .map((path) => `no event of the sample and no deadline leads to the state ${path}`);
}

/**
 * Active atomic states that are not tagged as settled and have no armed deadline of their own or of a parent.
 */
export function endless({ situations }: Walk): string[] {
  return [...new Set(situations.flatMap(endlessStates))];
}

function endlessStates({ snapshot, timers, path }: Situation): string[] {
  if (snapshot.status !== 'active') return [];
  const armed = [...timers.values()].map((type) => type.replace(/^xstate\.after\.[^.]+\./, ''));
  return snapshot._nodes.flatMap((node) => {
    if (node.type !== 'atomic' || node.tags.includes('settled')) return [];
    const isBounded = armed.some((owner) => node.id === owner || node.id.startsWith(`${owner}.`));
    return isBounded ? [] : [`${node.id} waits without a deadline after ${path.slice(-3).join(', ')}`];
  });
}

/** Steps that end differently if the actor was stored and restored before. */
export function movedDifferently({ situations, stepper }: Walk, events: readonly SampleEvent[]): string[] {
  const active = situations.filter(({ snapshot }) => snapshot.status === 'active').slice(0, movedMax);
  return active.flatMap(({ snapshot, path }) => {
    const restored = copyOf(stepper, snapshot);
    const text = (of: Snapshot) => JSON.stringify(stepper.persist(of));
    const [textOfRestored, textOfLive] = [text(restored), text(snapshot)];
    // Most events are ignored in most situations, and writing a record costs more than that.
    const taken = (from: Snapshot, event: SampleEvent, ignored: string) => {
      const { snapshot: reached, changed } = stepper.step(from, stamped(event));
      return changed ? text(reached) : ignored;
    };
    return events.flatMap((event) => {
      if (isSame(taken(restored, event, textOfRestored), taken(snapshot, event, textOfLive))) return [];
      return [`after ${path.join(', ')} a restored actor takes ${event.type} otherwise`];
    });
  });
}

/** As it would be read again: the order of fields does not matter. */
const isSame = (a: string, b: string) => a === b || isDeepStrictEqual(JSON.parse(a), JSON.parse(b));

/** Situations in which an unknown event changes something. */
export function takesAnything({ situations, stepper }: Walk): string[] {
  const active = situations.filter(({ snapshot }) => snapshot.status === 'active').slice(0, 200);
  const taken = active.some(
    ({ snapshot }) => stepper.step(snapshot, { type: 'never.heard.of', at: 0, random: 0 }).changed,
  );
  return taken ? ['an event that nobody knows changes the actor'] : [];
}
