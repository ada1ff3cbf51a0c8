/**
 * How a domain describes itself: one sentence, what happens next, and the facts for the columns of `orrery
 * get domain`. Pure.
 */
import type { Fact } from '../../base/views.ts';
import { isIn, type Standing, type Told } from '../tell.ts';
import { withUnwrittenText } from '../unwritten.ts';
import type { DomainContext } from './domain-context.ts';
import { lackingIn } from './domain-lacking.ts';
import { rememberedUntil, renewAt } from './domain-schedule.ts';
import { rememberedText, type StateWord, sentence, storedText } from './domain-words.ts';
import { leftoversText } from './exhibit-steps.ts';

export function tellDomain(standing: Standing<DomainContext>): Told {
  const { context } = standing;
  const left = context.leftovers.length === 0 ? '' : ` Still to be removed: ${leftoversText(context)}.`;
  const next = nextOf(standing);
  return {
    text: withUnwrittenText(`${textOf(standing)}${left}`, context, 'domains'),
    ...(next === null ? {} : { next }),
    facts: factsOf(context),
  };
}

const words: readonly StateWord[] = [
  'waitingForIssuer',
  'waitingForPermit',
  'ordering',
  'authorizing',
  'finalizing',
  'storing',
  'valid',
  'backingOff',
  'rateLimited',
  'issuerDown',
  'failed',
];

/** States that people see by another's word. */
const aliases: Readonly<Record<string, StateWord>> = {
  preparing: 'authorizing',
  issuerUnusable: 'waitingForPermit',
  expired: 'waitingForPermit',
};

function textOf({ states, context, at }: Standing<DomainContext>): string {
  const [state = ''] = states;
  const { host, certificate } = context;
  if (state === 'retired') return `Nothing asks for a certificate for ${host} any more; its Secrets stay.`;
  if (state === 'clearing')
    return `Nothing asks for a certificate for ${host} any more.${rememberedText(context, at)}`;
  const last = state.slice(state.lastIndexOf('.') + 1);
  if (last === 'lacking') return lackingText(context, at);
  const word = aliases[last] ?? words.find((one) => one === last);
  if (word !== undefined) return sentence(context, word, at);
  return certificate === null
    ? `The Secrets of ${host} are being checked.`
    : `${storedText(context, at)} Its Secrets are being checked.`;
}

/** What is stored, and each Secret that lacks it. */
function lackingText(context: DomainContext, at: number): string {
  const others = new Set(lackingIn({ ...context, missing: [] }).map(({ message }) => message));
  return [storedText(context, at), ...others].join(' ');
}

/** null: the next deadline tells. */
function nextOf(standing: Standing<DomainContext>): NonNullable<Told['next']> | null {
  const { certificate, window, nextAttempt } = standing.context;
  if ((isIn(standing, 'valid') || isIn(standing, 'lacking')) && certificate !== null)
    return { text: 'renewal', at: renewAt(certificate, window) };
  if (isIn(standing, 'clearing') && standing.context.formerly)
    return { text: 'forgets its failures', at: rememberedUntil(standing.context) };
  const { deferral } = standing.context;
  if (isIn(standing, 'queued.waitingForPermit') && deferral?.reason === 'budget' && deferral.until !== null)
    return { text: 'its turn comes, at about that time', at: deferral.until };
  const isHeld = ['resting', 'queued.rateLimited'].some((state) => isIn(standing, state));
  return isHeld && nextAttempt !== null ? { text: 'next attempt', at: nextAttempt } : null;
}

function factsOf({ facts, certificate, window, failures }: DomainContext): readonly Fact[] {
  return [
    { label: 'Issuer', value: facts?.issuer?.name ?? '-' },
    ...(certificate === null
      ? []
      : [
          { label: 'Expires', value: certificate.notAfter, unit: 'time', ends: true as const },
          { label: 'Renews', value: renewAt(certificate, window), unit: 'time' },
        ]),
    { label: 'Namespace', value: facts?.owner || '-' },
    { label: 'Refusals', value: failures },
  ];
}
