/**
 * `issuer/_/<name>`: the one place that lets domains order, so that all replicas together keep to the
 * authority's limits.
 *
 * Who sends: the router (`issuer.observed`), domains (`permit.asked`, `permit.returned`), the verification
 * (`issuer.*`), people (`issuer.recheck`). What it promises (docs/features/certificates.md §5, §7):
 * - One permit for one domain at a time, at most ten out together (64 of a CA of one's own), shared out by
 *   namespace among those whom the budgets and limits allow.
 * - A limit holds back those whom it is for: a host, a registered domain, or everybody; longer each time that
 *   it is met again.
 * - After a limit for everybody, an outage or a refusal of what every order asks for one domain tries first;
 *   the others follow when it succeeded, or got a proper refusal.
 * - While the authority is away it alone checks whether it is back: after 10 s, growing to 5 min.
 * - Ready is checked again each hour: a CA that has expired, or an account that was closed, is told before a
 *   domain needs it.
 * - Budgets are in the record: neither a restart nor a move of the shard forgets what was ordered, nor that
 *   the Issuer is deleted and created again.
 * Absent: what a domain does with its permit; a domain that is lost with it is not waited for longer than 330
 * s.
 */
import type { Chart } from '../chart.ts';
import { tells } from '../tell.ts';
import { isUnwritten } from '../unwritten.ts';
import { type IssuerContext, type Moment, newborn } from './issuer-context.ts';
import { issuerEffects } from './issuer-effects.ts';
import { issuerMigrations } from './issuer-migrations.ts';
import {
  downNotice,
  invalidNotice,
  isRefused,
  limitNotice,
  readyNotice,
  refusedNotice,
  report,
} from './issuer-report.ts';
import { issuerSetup } from './issuer-setup.ts';
import { type StateWord, tellIssuer } from './issuer-words.ts';

/** People are told the state by its word. */
const tell = (word: StateWord, notice: Parameters<typeof report>[1]['notice'] = null) =>
  [
    { type: 'note', params: { word } },
    { type: 'issuer.report', params: (moment: Moment) => report(moment, { word, notice }) },
  ] as const;

/** What was lost, or was written over, is reported again. */
const reports = (word: StateWord) =>
  ({
    'report.due': { actions: [...tell(word)] },
    'issuer.status.observed': [
      { guard: { type: 'isMistoldAnew', params: { word } }, actions: ['doubtTold', 'retellLater'] },
      { guard: { type: 'isToldAgain', params: { word } }, actions: ['trustTold', 'retellNot'] },
    ],
  }) as const;

const checking = ({ context }: Moment) => ({ issuer: context.name, check: context.check });

/** While domains are served the Issuer is checked again and again: weeks may pass before one asks. */
const checksAgain = <const Word extends 'ready' | 'trying'>(word: Word) =>
  ({
    quiet: { target: word, reenter: true },
    checkAgain: {
      target: word,
      reenter: true,
      actions: ['numberCheck', { type: 'issuer.verify', params: checking }],
    },
  }) as const;

/** What such a check finds. */
const checked = (word: 'ready' | 'trying') =>
  ({ 'issuer.verified': { guard: 'isThisCheck', actions: ['noteVerified', ...tell(word)] } }) as const;

/** The result of the verification. */
const verdict = [
  { guard: 'isCheckDown', target: '#issuer.suspended.down', actions: 'noteOutage' },
  { guard: 'isCheckLimited', target: '#issuer.suspended.rateLimited', actions: 'noteLimit' },
  { guard: 'isThisCheck', target: '#issuer.refused', actions: ['noteError', 'forgetUnusable'] },
] as const;

/**
 * Outcomes that stop serving for everybody, or prove the Issuer itself wrong, whichever domain is served.
 */
const passedOn = [
  {
    guard: 'isLimitForAll',
    target: '#issuer.suspended.rateLimited',
    actions: ['takeBack', 'noteLimitMet', 'noteLimit'],
  },
  { guard: 'isOutage', target: '#issuer.suspended.down', actions: ['takeBack', 'noteOutage'] },
  { guard: 'isSpecRefused', target: '#issuer.refused', actions: ['takeBack', 'noteRefusal'] },
  { guard: 'isUnusable', target: '#issuer.verifying', actions: 'takeBack' },
] as const;

const issuerMachine = issuerSetup.createMachine({
  id: 'issuer',
  context: ({ input }) => newborn(input),
  initial: 'unobserved',
  on: {
    'issuer.observed': [
      { guard: 'isGone', target: '.gone' },
      { guard: 'isNewSpec', target: '.verifying', actions: ['forgetLimits', 'remember', 'forgetTrouble'] },
      { guard: 'isReadOtherwise', actions: 'remember' },
    ],
    'issuer.recheck': { target: '.verifying', actions: ['forgetUnusable', 'beginRefusalsAnew'] },
    'effect.settled': [
      { guard: 'isReportLost', actions: ['noteUnwritten', 'reportLater'] },
      { guard: 'isReportBack', actions: 'noteWritten' },
    ],
    'permit.asked': { actions: ['enqueue', 'deferAsNotReady'] },
    'permit.returned': { actions: ['takeBack', 'deferAsNotReady'] },
  },
  states: {
    unobserved: {
      description: 'A domain asked before this replica had seen the Issuer itself.',
      on: { 'issuer.recheck': {} },
      after: { observePatience: 'gone' },
    },
    verifying: {
      description:
        'Checks whether certificates can be issued: the authority answers and knows the account, or the CA can sign.',
      entry: [
        { type: 'note', params: { word: 'verifying' } },
        'numberCheck',
        { type: 'issuer.verify', params: checking },
      ],
      always: { guard: 'isInvalid', target: 'invalid' },
      on: {
        ...reports('verifying'),
        // Until the check is over the status says what the last one found.
        'issuer.status.observed': {},
        'issuer.verified': [
          {
            guard: 'isThisCheckAgain',
            target: '#issuer.serving.trying',
            actions: ['noteVerified', ...tell('trying')],
          },
          {
            guard: 'isThisCheck',
            target: 'serving',
            actions: ['noteVerified', 'forgetTrouble', ...tell('ready', readyNotice)],
          },
        ],
        'issuer.failed': verdict,
      },
      after: { verifyPatience: { target: 'suspended.down', actions: 'noteOutage' } },
    },
    invalid: {
      description: 'The spec is not valid; waits until it changes.',
      tags: ['settled', 'wrong'],
      entry: ['noteInvalid', ...tell('invalid', invalidNotice)],
      on: reports('invalid'),
      after: { restate: { target: 'invalid', reenter: true } },
    },
    refused: {
      description:
        'The authority refuses the account, or what its orders ask for, or the CA cannot sign; retried when a Secret that the spec names changes, and now and then.',
      tags: 'wrong',
      entry: [...tell('refused', refusedNotice), { type: 'issuer-secrets.watch', params: checking }],
      on: {
        ...reports('refused'),
        'issuer-secrets.changed': { guard: 'isThisCheck', target: 'verifying' },
        // The state's deadline continues.
        'issuer-secrets.unchanged': {
          guard: 'isThisCheck',
          actions: { type: 'issuer-secrets.watch', params: checking },
        },
      },
      after: { tryAnyway: 'verifying' },
    },
    serving: {
      description: 'Certificates can be issued, and domains get permits; checked again each hour.',
      tags: 'settled',
      initial: 'ready',
      on: {
        // Trouble that may pass is left to the next order.
        'issuer.failed': {
          guard: 'isRefused',
          target: '#issuer.refused',
          actions: ['noteError', 'forgetUnusable'],
        },
      },
      states: {
        ready: {
          id: 'issuer.ready',
          description: 'Domains get permits in turn, within the budgets.',
          entry: 'serveAll',
          on: {
            ...reports('ready'),
            ...checked('ready'),
            'permit.asked': { target: 'ready', reenter: true, actions: 'enqueue' },
            'permit.returned': [
              ...passedOn,
              {
                guard: 'isLimit',
                target: 'ready',
                reenter: true,
                actions: ['takeBack', 'noteLimitMet'],
              },
              { target: 'ready', reenter: true, actions: 'takeBack' },
            ],
          },
          after: checksAgain('ready'),
        },
        trying: {
          id: 'issuer.trying',
          description: 'After a rate limit, an outage or a refusal of its orders, one domain tries first.',
          entry: 'serveOne',
          on: {
            ...reports('trying'),
            ...checked('trying'),
            'permit.asked': { target: 'trying', reenter: true, actions: 'enqueue' },
            'permit.returned': [
              ...passedOn,
              {
                guard: 'isVagueLimit',
                target: 'trying',
                reenter: true,
                actions: ['takeBack', 'noteLimitMet'],
              },
              {
                guard: 'isLimit',
                target: 'ready',
                actions: ['takeBack', 'noteLimitMet', 'forgetTrouble', ...tell('ready')],
              },
              {
                guard: 'isGoodAnswer',
                target: 'ready',
                actions: ['takeBack', 'forgetTrouble', ...tell('ready')],
              },
              { target: 'trying', reenter: true, actions: 'takeBack' },
            ],
          },
          after: checksAgain('trying'),
        },
      },
    },
    suspended: {
      description: 'No permits for a while; domains that ask join the queue.',
      tags: 'wrong',
      initial: 'down',
      states: {
        rateLimited: {
          id: 'issuer.rateLimited',
          description: 'The authority is rate limiting; all domains wait until one of them may try.',
          entry: ['deferAsLimited', ...tell('rateLimited', limitNotice)],
          on: {
            ...reports('rateLimited'),
            'permit.asked': { actions: ['enqueue', 'deferAsLimited'] },
            'permit.returned': { actions: ['takeBack', 'deferAsLimited'] },
          },
          after: { limit: { target: '#issuer.serving.trying', actions: ['noteReturn', ...tell('trying')] } },
        },
        down: {
          id: 'issuer.down',
          description: 'The authority does not answer properly; it is checked again after a pause.',
          entry: [...tell('down', downNotice)],
          on: {
            ...reports('down'),
            'permit.asked': { actions: ['enqueue', 'deferAsDown'] },
            'permit.returned': { actions: 'takeBack' },
          },
          after: { probe: 'probing' },
        },
        probing: {
          id: 'issuer.probing',
          description: 'Checks whether the authority is back.',
          entry: ['numberCheck', { type: 'issuer.verify', params: checking }],
          on: {
            ...reports('down'),
            'permit.asked': { actions: ['enqueue', 'deferAsDown'] },
            'permit.returned': { actions: 'takeBack' },
            'issuer.verified': {
              guard: 'isThisCheck',
              target: '#issuer.serving.trying',
              actions: ['noteVerified', 'noteReturn', ...tell('trying')],
            },
            'issuer.failed': verdict,
          },
          after: { verifyPatience: { target: 'down', actions: 'noteOutage' } },
        },
      },
    },
    gone: {
      description:
        'The Issuer does not exist; what was ordered is remembered until its budgets are full again, for one that is created with this name.',
      tags: 'settled',
      entry: ['forgetTrouble', 'forgetObject'],
      always: { guard: 'isForgettable', target: 'forgotten' },
      on: {
        'issuer.recheck': {},
        // What was still on its way was about an object that is gone.
        'effect.settled': {},
        'issuer.observed': [
          { guard: 'isGone' },
          { target: 'verifying', actions: ['forgetLimits', 'remember', 'forgetTrouble'] },
        ],
      },
      after: { untilForgettable: 'forgotten' },
    },
    forgotten: {
      description: 'The Issuer does not exist, and nothing is left to remember of it.',
      type: 'final',
    },
  },
});

export const issuerChart: Chart = {
  name: 'issuer',
  shortName: 'iss',
  version: 2,
  description: "Gives domains permits to order certificates, within the authority's budgets and rate limits.",
  machine: issuerMachine,
  durable: true,
  // A domain may learn of its Issuer before the Issuer's own shard does.
  createdBy: ['issuer.observed', 'permit.asked'],
  effects: issuerEffects,
  migrations: issuerMigrations,
  tell: tells(tellIssuer),
  needsLook: (context) => isUnwritten(context) || isRefused(context as Partial<IssuerContext>),
};
