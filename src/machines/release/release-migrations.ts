/** Migrations of the release chart's records: docs/features/releases.md, States. Pure. */
import type { Migration } from '../chart.ts';

/** Changes by rounds were not kept. */
const withChanges: Migration = ({ value, context }) => ({
  value,
  context: { ...(context as object), changes: [] },
});

/** The present places of version 2's states, which were not nested; their deadlines kept their names. */
const places: Readonly<Record<string, unknown>> = {
  waitingForNodes: 'waitingForNodes',
  announcing: { announcing: 'suited' },
  claiming: { announcing: 'unsuited' },
  lookingAgain: 'lookingAgain',
  lettingEnd: 'lettingEnd',
  applying: { applying: 'working' },
  retrying: { applying: 'retrying' },
  marking: { marking: 'writing' },
  markingAgain: { marking: 'again' },
  resting: { keeping: 'resting' },
  pausing: { keeping: 'pausing' },
  repeating: { keeping: 'repeating' },
};

const underLeading: Migration = ({ value, context }) => {
  const place = typeof value === 'string' && Object.hasOwn(places, value) ? places[value] : undefined;
  return { value: place === undefined ? value : { leading: place }, context };
};

/** Whoever waits for nodes has not done so for long. */
const withHeldUp: Migration = (stored) => stored;

export const releaseMigrations: Readonly<Record<number, Migration>> = {
  1: withChanges,
  2: underLeading,
  3: withHeldUp,
};
