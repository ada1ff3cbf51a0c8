/**
 * `release-candidacy`: whether one replica may lead the releases, as part of its own life.
 *
 * Who sends: the replica, of itself: the nodes as they are stored (`nodes.seen`), its leadership
 * (`reign.began`, `reign.ended`), its end (`candidacy.ended`). What it promises (docs/features/releases.md
 * §2.1):
 * - It may lead only while it has a bundle, is entered as a node, and no node is of a newer release. A no
 *   holds at once.
 * - A yes holds after 250 to 750 ms, drawn again each time: replicas of one release do not all begin at
 *   once, and a release that is just arriving is not led for a moment by the one before.
 * Absent: the claim itself (the holding of the shard of releases), what a leader does (release). It is kept
 * in memory alone: docs/decisions/0002-release-leadership.md says why.
 */

import { assign, setup } from 'xstate';
import { compareReleases } from '../../base/semantic-version.ts';
import type { Chart } from '../chart.ts';
import type { Stamp } from '../stamp.ts';

export interface CandidacyContext {
  /** Of this replica's bundle; null: it has none. */
  readonly release: string | null;
  /** The newest release of all nodes, as last seen; null: there is no node. */
  readonly newest: string | null;
}

export type CandidacyEvent =
  /** The stored nodes have changed. */
  | {
      readonly type: 'nodes.seen';
      /** Whether this process is one of them. */
      readonly isEntered: boolean;
      readonly newest: string | null;
    }
  /** This replica owns the releases' shard, and therefore leads. */
  | { readonly type: 'reign.began' }
  | { readonly type: 'reign.ended' }
  /** The replica shuts down. */
  | { readonly type: 'candidacy.ended' };

const pauseMinMs = 250;
const pauseSpreadMs = 500;

const candidacyMachine = setup({
  types: {
    context: {} as CandidacyContext,
    events: {} as CandidacyEvent & Stamp,
    input: {} as { readonly release: string | null },
    tags: {} as 'settled' | 'mayLead',
  },
  guards: {
    hasNoBundle: ({ context }) => context.release === null,
    isNotEntered: ({ event }) => event.type === 'nodes.seen' && !event.isEntered,
    isOutdated: ({ context, event }) =>
      event.type === 'nodes.seen' &&
      event.newest !== null &&
      context.release !== null &&
      compareReleases(context.release, event.newest) < 0,
  },
  delays: {
    pause: ({ event }) => pauseMinMs + pauseSpreadMs * (event as Stamp).random,
  },
  actions: {
    noteNewest: assign(({ event }) => (event.type === 'nodes.seen' ? { newest: event.newest } : {})),
  },
}).createMachine({
  id: 'release-candidacy',
  context: ({ input }) => ({ release: input.release, newest: null }),
  initial: 'barred',
  on: { 'candidacy.ended': '.ended' },
  states: {
    without: {
      description: 'This replica runs without a bundle and never leads.',
      tags: 'settled',
    },
    barred: {
      description: 'This replica may not lead now.',
      always: { guard: 'hasNoBundle', target: 'without' },
      initial: 'entering',
      on: {
        'nodes.seen': [
          { guard: 'isNotEntered', target: '.entering', actions: 'noteNewest' },
          { guard: 'isOutdated', target: '.outdated', actions: 'noteNewest' },
          { target: 'entitled', actions: 'noteNewest' },
        ],
      },
      states: {
        entering: {
          description: 'The replica is not among the nodes yet, or was removed from them.',
          tags: 'settled',
        },
        outdated: {
          description: "A node runs a newer release than this replica's bundle.",
          tags: 'settled',
        },
      },
    },
    entitled: {
      description: 'The replica has a bundle, is a node, and no node runs a newer release.',
      initial: 'pausing',
      on: {
        'nodes.seen': [
          { guard: 'isNotEntered', target: 'barred.entering', actions: 'noteNewest' },
          { guard: 'isOutdated', target: 'barred.outdated', actions: 'noteNewest' },
        ],
      },
      states: {
        pausing: {
          description: 'Waits a moment, of a different length in each replica.',
          after: { pause: 'campaigning' },
        },
        campaigning: {
          description: 'Claims the leadership whenever nobody has it.',
          tags: ['settled', 'mayLead'],
          on: { 'reign.began': 'leading' },
        },
        leading: {
          description: 'This replica leads the releases.',
          tags: ['settled', 'mayLead'],
          on: { 'reign.ended': 'campaigning' },
        },
      },
    },
    ended: {
      description: 'The replica is stopping and no longer leads.',
      type: 'final',
    },
  },
});

export const candidacyChart: Chart = {
  name: 'release-candidacy',
  version: 1,
  description: 'Decides whether this replica may lead the releases.',
  machine: candidacyMachine,
  durable: false,
  createdBy: [],
  effects: [],
};
