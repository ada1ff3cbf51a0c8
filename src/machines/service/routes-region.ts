/**
 * The routes region of the Service chart: samples the Service for the Pods of its group. Its guards, delays
 * and actions stand in service.ts, what they compute in service-context.ts, route-rounds.ts and route-
 * words.ts.
 */

import { round } from './route-rounds.ts';
import {
  headerAnswer,
  headerDenial,
  headerNews,
  headerQuestion,
  loss,
  missedNews,
  verdict,
} from './route-words.ts';

export const routesRegion = {
  description: 'Which Pods does the Service reach?',
  initial: 'idle',
  on: {
    'service.observed': [
      { guard: 'isGone', actions: 'forgetRoutes', target: '.gone' },
      { guard: 'isReturning', actions: ['remember', 'hurry'], target: '.idle' },
      { guard: 'isRerouted', actions: ['remember', 'hurry', 'abandonRound'] },
      { guard: 'isRouteNews', actions: ['remember', 'hurry'] },
      { guard: 'isNews', actions: 'remember' },
    ],
    'service.endpoints.observed': { guard: 'isRouteless', target: '.gone' },
    'route.wanted': [
      { guard: 'isMetAlready', actions: ['tellProven', 'keepWant', 'noteKeptTold'] },
      { guard: 'isNewWant', actions: 'keepWant' },
      { guard: 'isAgedWant', actions: 'renewWant' },
    ],
    'route.watched': { guard: 'isNewWatch', actions: 'keepWatch' },
    'route.unwanted': { guard: 'isKnownWant', actions: 'dropUnwanted' },
    'service.recheck': { actions: 'hurry' },
    'sample.answered': {
      guard: 'isWantedAnswer',
      actions: ['tellProven', 'credit'],
    },
    'header.asked': [
      { guard: 'isHeaderKnown', actions: { type: 'message.send', params: headerAnswer } },
      { actions: 'noteInquiry' },
    ],
    'header.seen': { guard: 'isHeaderNews', actions: 'noteHeader' },
    'header.unseen': { actions: 'noteUnseen' },
  },
  always: [
    { guard: 'isAnyPodLost', actions: [{ type: 'message.send', params: loss }, 'dropLost'] },
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
    idle: {
      description: 'Nobody wants a proof that the Service can be asked for.',
      tags: 'settled',
      always: [
        { guard: 'isAnythingWanted', target: 'sampling' },
        { guard: 'isWatching', target: 'watching' },
      ],
    },
    sampling: {
      description: 'A round of calls through the Service is in work.',
      entry: ['startRound', { type: 'route.sample', params: round }],
      on: {
        'service.observed': {
          guard: 'isRerouted',
          actions: ['remember', 'hurry', 'abandonRound'],
          target: 'judging',
        },
        'sample.finished': { guard: 'isThisRound', actions: 'noteRound', target: 'judging' },
        'sample.failed': { guard: 'isThisRound', actions: 'noteFailure', target: 'judging' },
      },
      after: { roundPatience: { actions: 'noteFailure', target: 'judging' } },
    },
    judging: {
      description: 'Chooses what follows a round.',
      always: [
        { guard: 'isAnyWantStale', actions: 'dropStale' },
        { guard: 'isWatching', target: 'watching' },
        { guard: 'isNothingWanted', target: 'settled' },
        { guard: 'isUnaskable', target: 'idle' },
        {
          guard: 'isAnonymousGroup',
          target: 'settled',
          actions: [{ type: 'message.send', params: verdict }, 'forgetWants'],
        },
        {
          guard: 'isAnonymousThroughout',
          target: 'settled',
          actions: [{ type: 'message.send', params: verdict }, 'noteNoHeader', 'forgetWants'],
        },
        { guard: 'isAnonymousYet', target: 'inquiring' },
        { guard: 'isHurriedAndRested', target: 'sampling' },
        { guard: 'isHurried', target: 'waking' },
        { target: 'pausing' },
      ],
    },
    waking: {
      description:
        'Something changed; the next round follows at once, but not before the last one is 200 ms old.',
      always: [
        { guard: 'isWatching', target: 'watching' },
        { guard: 'isNothingWanted', target: 'settled' },
        { guard: 'isUnaskable', target: 'idle' },
      ],
      after: { wakePause: 'sampling' },
    },
    inquiring: {
      description:
        'No answer carried the header: asks the other Services of the group whether any of theirs ever did.',
      entry: { type: 'message.send', params: headerQuestion },
      on: {
        'header.seen': { actions: 'noteHeader', target: 'pausing' },
        'service.observed': {
          guard: 'isRerouted',
          actions: ['remember', 'hurry', 'abandonRound'],
          target: 'pausing',
        },
      },
      always: {
        guard: 'isAnonymousThroughout',
        target: 'settled',
        actions: [{ type: 'message.send', params: verdict }, 'noteNoHeader', 'forgetWants'],
      },
      // Silence is no verdict: docs/features/routes.md §3.5.
      after: { answerPatience: 'pausing' },
    },
    pausing: {
      description:
        'Some Pod is not reached yet; the next round follows after a pause, or at once when something changes.',
      always: [
        { guard: 'isWatching', target: 'watching' },
        { guard: 'isNothingWanted', target: 'settled' },
        { guard: 'isUnaskable', target: 'idle' },
        { guard: 'isHurriedAndRested', target: 'sampling' },
        { guard: 'isHurried', target: 'waking' },
      ],
      after: { pause: 'sampling' },
    },
    settled: {
      description: 'Every Pod that asked was reached.',
      tags: 'settled',
      always: [
        { guard: 'isAnythingWanted', target: 'sampling' },
        { guard: 'isWatching', target: 'watching' },
      ],
    },
    watching: {
      description: 'Every Pod that asked was reached; now and then it is looked whether they still are.',
      always: [
        { guard: 'isAnythingWanted', target: 'sampling' },
        { guard: 'isUnaskable', target: 'idle' },
      ],
      after: { checkPause: 'sampling' },
    },
    gone: {
      description: 'The Service does not exist any more, or no group needs it.',
      type: 'final',
    },
  },
} as const;
