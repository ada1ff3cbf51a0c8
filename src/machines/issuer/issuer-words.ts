/**
 * The sentences about an Issuer, in conditions and in `orrery get`, and its facts. Pure.
 */
import type { Fact } from '../../base/views.ts';
import { dateText } from '../domain/domain-words.ts';
import type { Standing, Told } from '../tell.ts';
import { withUnwrittenText } from '../unwritten.ts';
import type { IssuerContext } from './issuer-context.ts';
import { isCalling } from './issuer-crowd.ts';
import { unusableOnes } from './issuer-limits.ts';

/** The states that people see; the chart's own are nested (docs/features/certificates.md, States). */
export type StateWord = 'verifying' | 'ready' | 'trying' | 'rateLimited' | 'down' | 'invalid' | 'refused';

const source = ({ facts }: IssuerContext) => (facts?.kind === 'ca' ? 'CA' : 'authority');
const withoutDot = (text: string) => text.replace(/\.+$/, '');

/** What people are told about an Issuer in a state, in one sentence. */
export function sentence(context: IssuerContext, word: StateWord): string {
  const { name, lastError, ca, refusals = 0 } = context;
  const why = lastError === null ? '' : `: ${withoutDot(lastError)}`;
  switch (word) {
    case 'ready':
      return `Issuer ${name} can issue certificates${ofAccount(context)}${ca ? `; its CA expires ${dateText(ca.notAfter)}` : ''}.`;
    case 'trying':
      if (refusals > 0)
        return `Issuer ${name} could not be used${why}; one domain at a time tries it, until an order is taken.`;
      return `The ${source(context)} of Issuer ${name} is back; one domain tries first.`;
    case 'verifying':
      return `Checking whether Issuer ${name} can issue certificates.`;
    case 'rateLimited':
      return `Issuer ${name} issues no certificates for a while${why}.`;
    case 'down':
      return `The ${source(context)} of Issuer ${name} does not answer${why}.`;
    case 'invalid':
      return `The spec of Issuer ${name} is not valid${why}.`;
    case 'refused':
      return `Issuer ${name} cannot be used${why}.`;
  }
}

/** CAA records may name it (`accounturi`, RFC 8657). */
const ofAccount = ({ account }: IssuerContext) => (account == null ? '' : `; its account is ${account}`);

const words: Readonly<Record<string, StateWord>> = {
  verifying: 'verifying',
  ready: 'ready',
  trying: 'trying',
  rateLimited: 'rateLimited',
  down: 'down',
  probing: 'down',
  invalid: 'invalid',
  refused: 'refused',
};

export function tellIssuer({ states, context, at }: Standing<IssuerContext>): Told {
  const [state = ''] = states;
  const last = state.slice(state.lastIndexOf('.') + 1);
  const next = nextOf(last, context);
  const text = withUnwrittenText(textOf(last, context, at), context, 'issuers');
  return { text, ...(next === null ? {} : { next }), facts: factsOf(context) };
}

function textOf(state: string, context: IssuerContext, at: number): string {
  const { name, queue } = context;
  if (state === 'gone' || state === 'forgotten') return `There is no Issuer ${name}.`;
  const word = words[state];
  if (word === undefined) return `Domains ask for Issuer ${name}, which has not been seen yet.`;
  const others = isCalling(context, at) ? ', and others ask again later' : '';
  const waiting = queue.length === 0 ? '' : ` ${counted(queue.length)} for it${others}.`;
  return `${sentence(context, word)}${waiting}${unusableText(context, at)}`;
}

/** For whom it is unusable although its own check passes; one reason is enough, and mostly the same. */
function unusableText(context: IssuerContext, at: number): string {
  const [one, ...others] = unusableOnes(context, at);
  if (one === undefined) return '';
  const who = others.length === 0 ? one.host : `${one.host} and ${others.length} more`;
  return ` ${who} could not use it: ${withoutDot(one.why)}.`;
}

const counted = (count: number) => (count === 1 ? '1 domain waits' : `${count} domains wait`);

/** null: the next deadline tells. */
function nextOf(state: string, { limitedUntil }: IssuerContext): NonNullable<Told['next']> | null {
  return state === 'rateLimited' && limitedUntil !== null
    ? { text: 'one domain tries', at: limitedUntil }
    : null;
}

function factsOf({ facts, queue, inWork, outageSince }: IssuerContext): readonly Fact[] {
  return [
    { label: 'Kind', value: facts?.kind ?? '-' },
    { label: 'Waiting', value: queue.length },
    { label: 'In work', value: Object.keys(inWork).length },
    ...(outageSince === null ? [] : [{ label: 'Down since', value: outageSince, unit: 'time' }]),
  ];
}
