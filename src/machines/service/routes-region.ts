/**
 * The routes region of the Service chart: samples the Service for the Pods of its group. Guards, delays and
 * actions are in service-setup.ts, their calculations in service-context.ts, route-rounds.ts and
 * route-words.ts.
 */
import { keepIds } from '../state-ids.ts';

import { round } from './route-rounds.ts';
import { headerAnswer, headerDenial, headerNews, headerQuestion, missedNews } from './route-words.ts';

/** Nobody waits any more, or nobody who waits can be looked for. */
const whenOver = [
  { guard: 'isWatching', target: '#service.routes.resting.watching' },
  { guard: 'isNothingWanted', target: '#service.routes.resting.settled' },
  { guard: 'isUnaskable', target: '#service.routes.resting.idle' },
] as const;

/** The Service cannot be verified. Pods that are held all the same go on waiting, so rounds go on. */
const heldAnonymous = {
  guard: 'isHeldAnonymous',
  target: '#service.routes.waiting',
  actions: ['tellVerdict', 'noteNoHeader', 'noteJudged'],
} as const;

export const routesRegion = {
  description: 'Which Pods does the Service reach?',
  initial: 'resting',
  on: {
    'service.observed': [
      { guard: 'isGone', actions: ['tellForgotten', 'forgetRoutes'], target: '.gone' },
      { guard: 'isReturning', actions: ['remember', 'hurry'], target: '.resting' },
      { guard: 'isRerouted', actions: ['remember', 'hurry', 'abandonRound'] },
      { guard: 'isRouteNews', actions: ['remember', 'hurry'] },
      { guard: 'isNews', actions: 'remember' },
    ],
    'service.endpoints.observed': { guard: 'isRouteless', target: '.gone' },
    'route.wanted': [
      { guard: 'isMetAlready', actions: ['tellMet', 'keepWant', 'noteKeptTold'] },
      { guard: 'isNewWant', actions: 'keepWant' },
      { guard: 'isAgedWant', actions: 'renewWant' },
    ],
    'route.watched': [
      { guard: 'isNewWatch', actions: ['keepWatch', 'confirmWatch'] },
      { guard: 'isConfirmationDue', actions: 'confirmWatch' },
    ],
    'route.unwanted': { guard: 'isKnownWant', actions: 'dropUnwanted' },
    'service.recheck': { actions: 'hurry' },
    'sample.answered': {
      guard: 'isWantedAnswer',
      actions: ['tellReached', 'credit'],
    },
    'header.asked': [
      { guard: 'isHeaderKnown', actions: { type: 'message.send', params: headerAnswer } },
      { actions: 'noteInquiry' },
    ],
    'header.seen': { guard: 'isHeaderNews', actions: 'noteHeader' },
    'header.unseen': { actions: 'noteUnseen' },
  },
  always: [
    { guard: 'isAnyPodLost', actions: ['tellLost', 'dropLost'] },
    {
      guard: 'isAnyoneCurious',
      actions: [{ type: 'message.send', params: missedNews }, 'noteTold'],
    },
    {
      guard: 'isDenialDue',
      actions: [{ type: 'message.send', params: headerDenial }, 'settleDenial'],
    },
    { guard: 'isHeaderOwed', actions: [{ type: 'message.send', params: headerNews }, 'settleInquiry'] },
  ],
  states: {
    resting: {
      description: 'No Pod waits for a proof that the Service can give.',
      initial: 'idle',
      always: { guard: 'isAnythingWanted', target: 'sampling' },
      states: keepIds('service.routes', {
        idle: {
          description: 'No Pod asks for a proof that the Service can give.',
          tags: 'settled',
          always: { guard: 'isWatching', target: 'watching' },
        },
        settled: {
          description: 'Every Pod that asked was reached.',
          tags: 'settled',
          always: { guard: 'isWatching', target: 'watching' },
        },
        watching: {
          description: 'Every Pod that asked was reached; now and then the routes are checked again.',
          tags: 'settled',
          always: { guard: 'isUnaskable', target: 'idle' },
          after: { checkPause: '#service.routes.sampling' },
        },
      } as const),
    },
    sampling: {
      description: 'A round of calls through the Service is running.',
      entry: ['startRound', { type: 'route.sample', params: round }],
      // The round need not go on for Pods that are gone.
      always: { guard: 'isAnyPodLost', actions: ['narrowToUnlost', 'tellLost', 'dropLost'] },
      on: {
        'service.observed': [
          { guard: 'isGone', actions: ['endRound', 'tellForgotten', 'forgetRoutes'], target: 'gone' },
          {
            guard: 'isRerouted',
            actions: ['endRound', 'remember', 'hurry', 'abandonRound'],
            target: 'judging',
          },
        ],
        'route.wanted': [
          { guard: 'isMetAlready', actions: ['widenRound', 'tellMet', 'keepWant', 'noteKeptTold'] },
          { guard: 'isNewWant', actions: ['widenRound', 'keepWant'] },
          { guard: 'isAgedWant', actions: 'renewWant' },
        ],
        'route.unwanted': { guard: 'isKnownWant', actions: ['narrowToWanted', 'dropUnwanted'] },
        'sample.finished': {
          guard: 'isThisRound',
          actions: ['tellReached', 'noteRound'],
          target: 'judging',
        },
        'sample.failed': { guard: 'isThisRound', actions: 'noteFailure', target: 'judging' },
      },
      after: { roundPatience: { actions: 'noteSilence', target: 'judging' } },
    },
    judging: {
      description: 'Decides what follows a round.',
      always: [
        { guard: 'isAnyWantStale', actions: 'dropStale' },
        ...whenOver,
        heldAnonymous,
        { guard: 'isAnonymousGroup', target: 'resting.settled', actions: ['tellVerdict', 'forgetWants'] },
        {
          guard: 'isAnonymousThroughout',
          target: 'resting.settled',
          actions: ['tellVerdict', 'noteNoHeader', 'forgetWants'],
        },
        { guard: 'isAnonymousYet', target: 'inquiring' },
        { target: 'waiting' },
      ],
    },
    inquiring: {
      description:
        "No answer carried the header; asks the group's other Services whether any of their answers ever did.",
      entry: { type: 'message.send', params: headerQuestion },
      on: {
        'header.seen': { actions: 'noteHeader', target: 'waiting' },
        'service.observed': {
          guard: 'isRerouted',
          actions: ['remember', 'hurry', 'abandonRound'],
          target: 'waiting',
        },
      },
      always: [
        heldAnonymous,
        {
          guard: 'isAnonymousThroughout',
          target: 'resting.settled',
          actions: ['tellVerdict', 'noteNoHeader', 'forgetWants'],
        },
      ],
      // Silence is no verdict: docs/features/routes.md §3.5.
      after: { answerPatience: 'waiting' },
    },
    waiting: {
      description: 'At least one Pod has not been reached yet.',
      initial: 'pausing',
      always: [...whenOver, { guard: 'isHurriedAndRested', target: 'sampling' }],
      states: keepIds('service.routes', {
        pausing: {
          description: 'The next round follows after a pause, or immediately when something changes.',
          always: { guard: 'isHurried', target: 'waking' },
          after: { pause: '#service.routes.sampling' },
        },
        waking: {
          description: 'Something changed; the next round follows as soon as the last one is 200 ms old.',
          after: { wakePause: '#service.routes.sampling' },
        },
      } as const),
    },
    gone: {
      description: 'The Service no longer exists, or no group needs it.',
      type: 'final',
    },
  },
} as const;
