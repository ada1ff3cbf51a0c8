/**
 * The life of one holding: a shard of actors, or the watch of one kind of Kubernetes object, as one replica
 * sees it.
 *
 * Who sends: the planner (`holding.assigned`, `holding.withdrawn`), the outcomes of its own effects, and
 * whoever sees that a write was refused (`holding.fenced`). What it promises: work is done only between a won
 * claim and a drain; after `fenced` nothing more is done, from whatever state.
 */

import { assign, setup } from 'xstate';
import type { Chart } from '../chart.ts';
import { actionsOf, effect } from '../effect.ts';
import type { Stamp } from '../stamp.ts';

export interface HoldingContext {
  readonly name: string;
  /** Sequence of the last fence message seen; the claim is conditional on it. */
  readonly seen: number;
  /** Sequence of our own fence message while we own the holding, otherwise 0. */
  readonly fence: number;
  readonly failures: number;
  readonly lastError: string | null;
}

export type HoldingEvent =
  /** This replica should own it, by the plan. */
  | { readonly type: 'holding.assigned'; readonly seen: number }
  /** Another replica should own it, or this one stops. */
  | { readonly type: 'holding.withdrawn' }
  /** A conditional write was refused, or another replica's fence was seen. */
  | { readonly type: 'holding.fenced' }
  | { readonly type: 'claim.won'; readonly fence: number }
  | { readonly type: 'claim.lost' }
  /**
   * Outcomes name the fence under which they happened, because one of an earlier ownership may come late.
   */
  | { readonly type: 'holding.loaded'; readonly fence: number }
  | { readonly type: 'holding.drained'; readonly fence: number }
  | { readonly type: 'holding.released'; readonly fence: number }
  /** 0: a claim. */
  | { readonly type: 'effect.failed'; readonly message: string; readonly fence: number };

interface HoldingClaim {
  readonly type: 'holding.claim';
  readonly seen: number;
}
interface HoldingWork {
  readonly type: 'holding.load' | 'holding.open' | 'holding.drain' | 'holding.release' | 'holding.drop';
  readonly fence: number;
}
export type HoldingEffect = HoldingClaim | HoldingWork;

/** 0: a claim has no fence yet. */
const failure = (asked: HoldingEffect, message: string): HoldingEvent => ({
  type: 'effect.failed',
  message,
  fence: 'fence' in asked ? asked.fence : 0,
});
const holdingWork = <T extends HoldingWork['type']>(type: T) =>
  effect<HoldingWork & { readonly type: T }>(type, { failure });
const holdingEffects = [
  effect<HoldingClaim>('holding.claim', { failure }),
  holdingWork('holding.load'),
  holdingWork('holding.open'),
  holdingWork('holding.drain'),
  holdingWork('holding.release'),
  holdingWork('holding.drop'),
] as const;

const shardMachine = setup({
  types: {
    context: {} as HoldingContext,
    events: {} as HoldingEvent & Stamp,
    input: {} as { readonly name: string },
    tags: {} as 'settled' | 'owned',
  },
  guards: {
    isOfThisFence: ({ context, event }) => 'fence' in event && event.fence === context.fence,
  },
  delays: {
    /** An answer to a claim takes milliseconds; after this time the planner checks again. */
    claimPatience: 6_000,
    /** 10,000 actors load in under a second; a stream whose leader is being elected takes 4–9 s. */
    loadPatience: 30_000,
    /** The whole hand-over has to fit into 5 s. */
    drainPatience: 3_000,
  },
  actions: {
    noteSeen: assign(({ event }) => (event.type === 'holding.assigned' ? { seen: event.seen } : {})),
    noteFence: assign(({ event }) =>
      event.type === 'claim.won' ? { fence: event.fence, failures: 0, lastError: null } : {},
    ),
    noteFailure: assign(({ context, event }) => ({
      failures: context.failures + 1,
      lastError: event.type === 'effect.failed' ? event.message : 'timed out',
    })),
    forgetFence: assign({ fence: 0 }),
    ...actionsOf(...holdingEffects),
  },
}).createMachine({
  id: 'shard',
  context: ({ input }) => ({ name: input.name, seen: 0, fence: 0, failures: 0, lastError: null }),
  initial: 'unowned',
  states: {
    unowned: {
      description: 'Another replica owns the shard, or nobody does.',
      tags: 'settled',
      entry: 'forgetFence',
      on: { 'holding.assigned': { target: 'claiming', actions: 'noteSeen' } },
    },
    claiming: {
      description: 'Writes the fence; this succeeds only if nobody wrote it meanwhile.',
      entry: { type: 'holding.claim', params: ({ context }) => ({ seen: context.seen }) },
      on: {
        'claim.won': { target: 'held.loading', actions: 'noteFence' },
        'claim.lost': 'unowned',
        'effect.failed': { guard: 'isOfThisFence', target: 'unowned', actions: 'noteFailure' },
      },
      after: { claimPatience: { target: 'unowned', actions: 'noteFailure' } },
    },
    held: {
      description: 'This replica is the owner.',
      tags: 'owned',
      on: { 'holding.fenced': 'fenced' },
      initial: 'loading',
      states: {
        loading: {
          description: 'Reads what the previous owner saved.',
          entry: { type: 'holding.load', params: ({ context }) => ({ fence: context.fence }) },
          on: {
            'holding.loaded': { guard: 'isOfThisFence', target: 'active' },
            'holding.withdrawn': 'releasing',
            'effect.failed': { guard: 'isOfThisFence', target: 'releasing', actions: 'noteFailure' },
          },
          after: { loadPatience: { target: 'releasing', actions: 'noteFailure' } },
        },
        active: {
          description: 'Takes events and acts.',
          tags: 'settled',
          entry: { type: 'holding.open', params: ({ context }) => ({ fence: context.fence }) },
          on: {
            'holding.withdrawn': 'draining',
            'effect.failed': { guard: 'isOfThisFence', target: 'draining', actions: 'noteFailure' },
          },
        },
        draining: {
          description: 'Takes no more events; finishes saves in flight.',
          entry: { type: 'holding.drain', params: ({ context }) => ({ fence: context.fence }) },
          on: {
            'holding.drained': { guard: 'isOfThisFence', target: 'releasing' },
            'effect.failed': { guard: 'isOfThisFence', target: 'releasing' },
          },
          after: { drainPatience: 'releasing' },
        },
        releasing: {
          description: 'Gives the fence back so that the next owner need not wait for a timeout.',
          entry: { type: 'holding.release', params: ({ context }) => ({ fence: context.fence }) },
          on: {
            'holding.released': { guard: 'isOfThisFence', target: '#shard.unowned' },
            'effect.failed': { guard: 'isOfThisFence', target: '#shard.fenced' },
          },
          after: { drainPatience: '#shard.fenced' },
        },
      },
    },
    fenced: {
      description: 'Another replica is the owner; drops everything done under the old fence.',
      entry: { type: 'holding.drop', params: ({ context }) => ({ fence: context.fence }) },
      always: 'unowned',
    },
  },
});

export const shardChart: Chart = {
  name: 'shard',
  version: 1,
  description: 'Owns a shard for a replica: claims it, loads it, works on it and hands it over.',
  machine: shardMachine,
  durable: false,
  createdBy: [],
  effects: holdingEffects,
};
