/**
 * `proxier/_/<node>`: whether the service proxy of a node keeps up with what it is told, and whether the node
 * should get traffic. Regions `IPv4` and `IPv6` follow the proxy, region `node` follows the Node object.
 *
 * Who sends: the node's proxy or whoever speaks for it (`proxier.reported`, or `proxier.queued` and
 * `proxier.updated`; the first of them brings the actor into being), the router (`proxier.observed`). What it
 * promises:
 * - Only the oldest change that waits is timed; the family is late once it has waited for the timeout,
 *   exactly then included.
 * - A family that was never updated is never late.
 * - The node counts as eligible until something is known of it; then as the Node says; a deleted Node is
 *   ineligible.
 * - Only a name that a Node may have makes an actor, and beyond 2,048 in a shard only that of a Node.
 * - The actor ends: an hour after the last word of a deleted Node, a day after the last one of a node that
 *   nobody knows. Absent: HTTP (health/), and any effect. Whoever answers computes lateness from the context
 *   and the time: a deadline that comes a moment late must not make the answer wrong.
 */

import { assign, raise, setup } from 'xstate';
import type { IpFamily } from '../../base/address.ts';
import type { ActorInput } from '../actor-input.ts';
import type { Chart } from '../chart.ts';
import type { Stamp } from '../stamp.ts';
import { familyRegion, isLate } from './health-family.ts';
import {
  type Args,
  afterQueued,
  afterUpdated,
  deletedSilenceMs,
  familyAfter,
  happenedAt,
  initialContext,
  isNoNews,
  isSignOfLife,
  isSilent,
  type ProxierContext,
  refusedNode,
  unknownSilenceMs,
  untilLate,
  untilSilent,
  withFamily,
} from './proxier-context.ts';
import type { ProxierEvent, ProxierFacts } from './proxier-events.ts';
import { tellProxier } from './proxier-reason.ts';

type OfFamily = { readonly family: IpFamily };

/** Without a Node, messages keep the proxier alive. */
const heard = {
  'proxier.queued': { guard: 'isSignOfLife', actions: 'noteHeard' },
  'proxier.updated': { guard: 'isSignOfLife', actions: 'noteHeard' },
  'proxier.reported': { guard: 'isSignOfLife', actions: 'noteHeard' },
} as const;

const saysNode =
  (...states: readonly ProxierFacts['node'][]) =>
  ({ event }: Args) =>
    event.type === 'proxier.observed' && states.includes(event.facts.node);

const proxierMachine = setup({
  types: {
    context: {} as ProxierContext,
    events: {} as ProxierEvent & Stamp,
    input: {} as ActorInput & { readonly timeoutMs?: number },
    tags: {} as 'settled' | 'wrong',
  },
  guards: {
    isOfFamily: ({ event }, { family }: OfFamily) => 'family' in event && event.family === family,
    isFirstOfFamily: ({ context, event }, { family }: OfFamily) =>
      'family' in event && event.family === family && context.families[family].pendingSince === null,
    isNoNews: (args, { family }: OfFamily) => isNoNews(args, family),
    saysStarting: (args, { family }: OfFamily) => familyAfter(args, family).lastUpdated === null,
    saysPending: (args, { family }: OfFamily) => familyAfter(args, family).pendingSince !== null,
    saysLate: (args, { family }: OfFamily) =>
      isLate(familyAfter(args, family), args.event.at, args.context.timeoutMs),
    isOtherTimeout: ({ context, event }) =>
      event.type === 'proxier.observed' && event.facts.timeoutMs !== context.timeoutMs,
    isEligible: saysNode('eligible'),
    isIneligible: saysNode('ineligible'),
    isAbsent: saysNode('absent'),
    isSignOfLife,
    isUnknownSilent: (args) => isSilent(args, unknownSilenceMs),
    isDeletedSilent: (args) => isSilent(args, deletedSilenceMs),
  },
  delays: {
    lateIPv4: (args) => untilLate(args, 'IPv4'),
    lateIPv6: (args) => untilLate(args, 'IPv6'),
    unknownSilence: (args) => untilSilent(args, unknownSilenceMs),
    deletedSilence: (args) => untilSilent(args, deletedSilenceMs),
  },
  actions: {
    noteQueued: assign((args, { family }: OfFamily) => afterQueued(args, family)),
    noteUpdated: assign((args, { family }: OfFamily) => afterUpdated(args, family)),
    noteReported: assign((args, { family }: OfFamily) =>
      withFamily(args.context, family, familyAfter(args, family)),
    ),
    noteTimeout: assign(({ context, event }) => ({
      timeoutMs: event.type === 'proxier.observed' ? event.facts.timeoutMs : context.timeoutMs,
    })),
    noteHeard: assign(({ event }) => ({ heardAt: happenedAt(event) })),
    noteDeleted: assign(({ event }) => ({ heardAt: event.at })),
    forgetHeard: assign({ heardAt: null }),
    forget: raise({ type: 'proxier.forgotten' } as ProxierEvent & Stamp),
  },
}).createMachine({
  id: 'proxier',
  context: ({ input }) => initialContext(input.timeoutMs),
  type: 'parallel',
  states: {
    IPv4: familyRegion('IPv4', 'lateIPv4'),
    IPv6: familyRegion('IPv6', 'lateIPv6'),
    node: {
      description: 'Should the node get traffic, according to the Node object?',
      initial: 'unknown',
      on: {
        'proxier.forgotten': '.forgotten',
        'proxier.observed': { guard: 'isOtherTimeout', actions: 'noteTimeout' },
      },
      states: {
        unknown: {
          description: 'Nothing is known about the Node; it counts as eligible.',
          tags: 'settled',
          on: {
            ...heard,
            'proxier.observed': [
              { guard: 'isEligible', target: 'eligible', actions: 'noteTimeout' },
              { guard: 'isIneligible', target: 'ineligible', actions: 'noteTimeout' },
            ],
          },
          after: {
            unknownSilence: [
              { guard: 'isUnknownSilent', actions: 'forget' },
              { target: 'unknown', reenter: true },
            ],
          },
        },
        eligible: {
          description: 'The Node exists, is not being deleted and is not marked by the autoscaler.',
          tags: 'settled',
          entry: 'forgetHeard',
          on: {
            'proxier.observed': [
              { guard: 'isIneligible', target: 'ineligible', actions: 'noteTimeout' },
              { guard: 'isAbsent', target: 'ineligible.deleted', actions: ['noteTimeout', 'noteDeleted'] },
            ],
          },
        },
        ineligible: {
          description: 'The node should get no new traffic.',
          initial: 'leaving',
          on: { 'proxier.observed': { guard: 'isEligible', target: 'eligible', actions: 'noteTimeout' } },
          states: {
            leaving: {
              description: 'The Node is being deleted, or the autoscaler has marked it for deletion.',
              tags: 'settled',
              entry: 'forgetHeard',
              on: {
                'proxier.observed': {
                  guard: 'isAbsent',
                  target: 'deleted',
                  actions: ['noteTimeout', 'noteDeleted'],
                },
              },
            },
            deleted: {
              description: 'The Node no longer exists.',
              tags: 'settled',
              on: {
                ...heard,
                'proxier.observed': { guard: 'isIneligible', target: 'leaving', actions: 'noteTimeout' },
              },
              after: {
                deletedSilence: [
                  { guard: 'isDeletedSilent', actions: 'forget' },
                  { target: 'deleted', reenter: true },
                ],
              },
            },
          },
        },
        forgotten: { description: 'The actor is no longer needed.', type: 'final' },
      },
    },
  },
});

export const proxierChart: Chart = {
  name: 'proxier',
  shortName: 'px',
  version: 3,
  description: "Tracks whether a node's service proxy keeps up with its changes.",
  machine: proxierMachine,
  durable: true,
  createdBy: ['proxier.queued', 'proxier.updated', 'proxier.reported'],
  refuses: refusedNode,
  effects: [],
  tell: tellProxier,
  // A family may remember its last report and when it was received; neither is required.
  migrations: { 1: (stored) => stored, 2: (stored) => stored },
};
