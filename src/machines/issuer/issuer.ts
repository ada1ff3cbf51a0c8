/**
 * `issuer/_/<name>`: the one place that lets domains order, so that all replicas together keep to the authority's limits.
 *
 * Who sends: the router (`issuer.observed`), domains (`permit.asked`, `permit.returned`), the verification (`issuer.*`), people
 * (`issuer.recheck`). What it promises:
 * - One permit for one domain at a time, at most ten out together (64 of a CA of one's own); first come, first served among those whom the budgets allow.
 * - After a limit or an outage one domain tries first; the others follow when it fared well, or was refused in good order.
 * - While the authority is away it alone looks whether it is back: after 10 s, growing to 5 min.
 * - Budgets are in the record: neither a restart nor a move of the shard forgets what was ordered.
 * Absent: what a domain does with its permit; a domain that is lost with it is not waited for longer than 330 s.
 */
import { assign, raise, setup } from 'xstate';
import type { ActorInput } from '../actor-input.ts';
import { limitMs } from '../domain/domain-context.ts';
import type { MessageSend } from '../effects.ts';
import type { Stamp } from '../events.ts';
import {
  asked,
  checkingOf,
  deferrals,
  downNotice,
  entered,
  grants,
  type IssuerContext,
  type IssuerInput,
  invalidNotice,
  inWorkMax,
  limitNotice,
  newborn,
  probePauseMs,
  quietMs,
  readyNotice,
  refusedNotice,
  report,
  returned,
  served,
} from './issuer-context.ts';
import type { IssuerEffect } from './issuer-effects.ts';

export const issuerVersion = 1;
export const issuerDescription =
  'Gives domains the permits to order certificates, within the budgets and limits of their authority.';

type Args = { readonly context: IssuerContext };
type Of<T extends IssuerEffect['type']> = Omit<Extract<IssuerEffect, { readonly type: T }>, 'type'>;

const timeOf = (event: unknown) => (event as Stamp).at;

const tell = (notice: Parameters<typeof report>[1] = null) =>
  ({
    type: 'issuer.report',
    params: (moment: { context: IssuerContext; event: IssuerInput }) => report(moment, notice),
  }) as const;

const enter = (phase: string) => ({ type: 'enter', params: { phase } }) as const;

/** Who asks while nobody is served joins the queue and is told why it waits. */
const onlyQueue = {
  'permit.asked': { actions: 'enqueue' },
  'permit.returned': { actions: 'takeBack' },
} as const;

/** What the verification said. */
const verdict = [
  { guard: 'isCheckDown', target: '#issuer.down', actions: 'noteOutage' },
  { guard: 'isCheckLimited', target: '#issuer.rateLimited', actions: 'noteLimit' },
  { guard: 'isThisCheck', target: '#issuer.refused', actions: 'noteError' },
] as const;

/** What a domain said when it gave its permit back. */
const badNews = [
  { guard: 'isLimit', target: 'rateLimited', actions: ['takeBack', 'noteLimit'] },
  { guard: 'isOutage', target: 'down', actions: ['takeBack', 'noteOutage'] },
] as const;

export const issuerMachine = setup({
  types: {
    context: {} as IssuerContext,
    events: {} as IssuerInput,
    input: {} as ActorInput,
    tags: {} as 'settled' | 'wrong',
  },
  guards: {
    isGone: ({ event }) => event.type === 'issuer.observed' && event.facts === null,
    isNewSpec: ({ context, event }) =>
      event.type === 'issuer.observed' &&
      (event.facts?.uid !== context.facts?.uid || event.facts?.generation !== context.facts?.generation),
    isInvalid: ({ context }: Args) => context.facts?.invalid != null,
    isThisCheck: ({ context, event }) => 'check' in event && event.check === context.check,
    isCheckDown: ({ context, event }) =>
      event.type === 'issuer.failed' && event.check === context.check && event.outcome === 'down',
    isCheckLimited: ({ context, event }) =>
      event.type === 'issuer.failed' && event.check === context.check && event.outcome === 'rateLimited',
    isLimit: ({ event }) => event.type === 'permit.returned' && event.outcome === 'rateLimited',
    isOutage: ({ event }) => event.type === 'permit.returned' && event.outcome === 'down',
    isGoodAnswer: ({ event }) =>
      event.type === 'permit.returned' && (event.outcome === 'issued' || event.outcome === 'refused'),
    isAnyGranted: ({ context }: Args) => context.granted.length > 0,
    isAnyDeferred: ({ context }: Args) => context.deferred.length > 0,
    isReportLost: ({ event }) =>
      event.type === 'effect.settled' && event.effect === 'issuer.report' && event.error !== null,
  },
  delays: {
    /** A message can come before the news of the Issuer itself; without any it was a mistake. */
    observePatience: 60_000,
    /** The bound on the effect (limits.ts) and a little more: then its outcome is lost. */
    verifyPatience: 50_000,
    probe: ({ context, event }) => probePauseMs(context.probes, (event as Stamp).random),
    limit: ({ context, event }) => Math.max(0, (context.limitedUntil ?? 0) - timeOf(event)),
    quiet: ({ context, event }) => quietMs(context, timeOf(event)),
    /** Somebody may have mended what the specification names: a Secret, the authority's opinion of our account. */
    tryAnyway: 300_000,
    reportAgain: 30_000,
  },
  actions: {
    remember: assign(({ event }) => (event.type === 'issuer.observed' ? { facts: event.facts } : {})),
    enter: assign(({ context, event }, { phase }: { readonly phase: string }) =>
      entered(context, phase, timeOf(event)),
    ),
    numberCheck: assign(({ context }) => ({ check: context.check + 1 })),
    noteReturn: assign({ limitedUntil: null, outageSince: null }),
    forgetTrouble: assign({ limitedUntil: null, outageSince: null, probes: 0, lastError: null }),
    enqueue: assign(({ context, event }) => (event.type === 'permit.asked' ? asked(context, event) : {})),
    takeBack: assign(({ context, event }) =>
      event.type === 'permit.returned' ? returned(context, event) : {},
    ),
    serveAll: assign(({ context, event }) => served(context, timeOf(event), inWorkMax(context))),
    serveOne: assign(({ context, event }) => served(context, timeOf(event), 1)),
    forgetGranted: assign({ granted: [] }),
    forgetDeferred: assign({ deferred: [] }),
    noteInvalid: assign(({ context }) => ({ lastError: context.facts?.invalid ?? null })),
    noteError: assign(({ event }) => (event.type === 'issuer.failed' ? { lastError: event.message } : {})),
    noteOutage: assign(({ context, event }) => ({
      outageSince: context.outageSince ?? timeOf(event),
      probes: context.probes + 1,
      limitedUntil: null,
      lastError: event.type === 'issuer.failed' ? event.message : 'the authority did not answer a domain',
    })),
    noteLimit: assign(({ event }) => {
      const waitMs =
        event.type === 'permit.returned'
          ? event.waitMs
          : limitMs(event.type === 'issuer.failed' ? event.retryAfterMs : null, (event as Stamp).random);
      return { limitedUntil: timeOf(event) + waitMs, lastError: 'the authority asked to wait' };
    }),
    reportLater: raise({ type: 'report.due', at: 0, random: 0 }, { delay: 'reportAgain', id: 'report' }),
    'message.send': (_, _params: Omit<MessageSend, 'type'>) => {},
    'issuer.verify': (_, _params: Of<'issuer.verify'>) => {},
    'issuer.report': (_, _params: Of<'issuer.report'>) => {},
  },
}).createMachine({
  id: 'issuer',
  context: ({ input }) => newborn(input),
  initial: 'unobserved',
  on: {
    'issuer.observed': [
      { guard: 'isGone', target: '.gone' },
      { guard: 'isNewSpec', target: '.verifying', actions: ['remember', 'forgetTrouble'] },
    ],
    'issuer.recheck': { target: '.verifying' },
    'effect.settled': { guard: 'isReportLost', actions: 'reportLater' },
    'report.due': { actions: tell() },
    ...onlyQueue,
  },
  always: [
    {
      guard: 'isAnyGranted',
      actions: [{ type: 'message.send', params: grants }, 'forgetGranted'],
    },
    {
      guard: 'isAnyDeferred',
      actions: [{ type: 'message.send', params: deferrals }, 'forgetDeferred'],
    },
  ],
  states: {
    unobserved: {
      description: 'A domain asked before this replica heard of the Issuer itself.',
      on: { 'issuer.recheck': {} },
      after: { observePatience: 'gone' },
    },
    verifying: {
      description:
        'Looks whether certificates can be had: the authority answers and knows the account, or the CA can sign.',
      entry: [enter('verifying'), 'numberCheck', { type: 'issuer.verify', params: checkingOf }],
      always: { guard: 'isInvalid', target: 'invalid' },
      on: {
        'issuer.verified': [
          {
            guard: 'isThisCheck',
            target: 'ready',
            actions: ['forgetTrouble', enter('ready'), tell(readyNotice)],
          },
        ],
        'issuer.failed': verdict,
      },
      after: { verifyPatience: { target: 'down', actions: 'noteOutage' } },
    },
    invalid: {
      description: 'The specification cannot be used; it waits for another one.',
      tags: ['settled', 'wrong'],
      entry: ['noteInvalid', enter('invalid'), tell(invalidNotice)],
    },
    refused: {
      description:
        'The authority does not take our account, or the CA cannot sign; it is tried again now and then.',
      tags: 'wrong',
      entry: [enter('refused'), tell(refusedNotice)],
      after: { tryAnyway: 'verifying' },
    },
    ready: {
      description: 'Domains get permits, in turn and within the budgets.',
      tags: 'settled',
      entry: 'serveAll',
      on: {
        'permit.asked': { target: 'ready', reenter: true, actions: 'enqueue' },
        'permit.returned': [...badNews, { target: 'ready', reenter: true, actions: 'takeBack' }],
      },
      after: { quiet: { target: 'ready', reenter: true } },
    },
    rateLimited: {
      description: 'The authority asked to wait; all domains do, until one of them may try.',
      tags: 'wrong',
      entry: [enter('rateLimited'), tell(limitNotice)],
      after: { limit: { target: 'trying', actions: ['noteReturn', enter('trying'), tell()] } },
    },
    down: {
      description: 'The authority does not answer sensibly; after a while it is looked whether it is back.',
      tags: 'wrong',
      entry: [enter('down'), tell(downNotice)],
      after: { probe: 'probing' },
    },
    probing: {
      description: 'Looks whether the authority is back.',
      tags: 'wrong',
      entry: ['numberCheck', { type: 'issuer.verify', params: checkingOf }],
      on: {
        'issuer.verified': {
          guard: 'isThisCheck',
          target: 'trying',
          actions: ['noteReturn', enter('trying'), tell()],
        },
        'issuer.failed': verdict,
      },
      after: { verifyPatience: { target: 'down', actions: 'noteOutage' } },
    },
    trying: {
      description: 'After a limit or an outage: one domain tries first.',
      tags: 'settled',
      entry: 'serveOne',
      on: {
        'permit.asked': { target: 'trying', reenter: true, actions: 'enqueue' },
        'permit.returned': [
          ...badNews,
          {
            guard: 'isGoodAnswer',
            target: 'ready',
            actions: ['takeBack', 'forgetTrouble', enter('ready'), tell()],
          },
          { target: 'trying', reenter: true, actions: 'takeBack' },
        ],
      },
      after: { quiet: { target: 'trying', reenter: true } },
    },
    gone: {
      description: 'There is no such Issuer (any more).',
      type: 'final',
    },
  },
});
