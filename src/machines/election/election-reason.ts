/** Why an election stands as it does: one sentence for each state, and further facts. Pure. */
import type { Fact } from '../../base/views.ts';
import { age } from '../../base/words.ts';
import { isIn, type Standing, type Told, tells } from '../tell.ts';
import { withUnwrittenText } from '../unwritten.ts';
import { deadlineOf, holderEnd, living } from './election-candidates.ts';
import { type ElectionContext, placeOf } from './election-context.ts';
import { foreignEnd, isAnotherPreferred, isExpired, termsToday, vacantAt } from './election-lease.ts';
import { holderAt, leadsText } from './election-words.ts';

type ElectionStanding = Standing<ElectionContext>;

/** Names of candidates to show; there may be hundreds. */
const namesTold = 10;

export const tellElection = tells<ElectionContext>((standing) => {
  const { text, ...more } = sentenceOf(standing);
  const told = withUnwrittenText(text, standing.context, 'elections');
  return { ...more, text: told, facts: factsOf(standing) };
});

function sentenceOf(standing: ElectionStanding): Told {
  const { context } = standing;
  const { facts, lastError, asked } = context;
  const lease = leaseName(context);
  if (isIn(standing, 'starting')) return { text: 'waits for the spec of the Election', next: null };
  if (isIn(standing, 'invalid')) {
    return { text: `the Election is not valid: ${facts?.invalid ?? lastError ?? ''}`, next: null };
  }
  if (isIn(standing, 'looking')) {
    const text = `${lease} is being read${because(lastError)}`;
    return isIn(standing, 'looking.asking')
      ? { text }
      : { text: `${lease} cannot be read${because(lastError)}` };
  }
  if (isIn(standing, 'contending')) {
    const who = asked === null ? '' : ` for ${asked.record.holder}`;
    if (isIn(standing, 'contending.claiming'))
      return { text: `${lease} is free and is being acquired${who}` };
    return { text: `${lease} could not be acquired${who}${because(lastError)}` };
  }
  if (isIn(standing, 'leading')) return leadingSentence(standing);
  if (isIn(standing, 'steppingDown.expiring')) return expiringSentence(context);
  if (isIn(standing, 'steppingDown')) {
    return { text: `${lease} is being released: ${context.former?.reason ?? 'nobody leads'}` };
  }
  if (isIn(standing, 'released')) return { text: 'the Election was deleted', next: null };
  return observingSentence(standing);
}

function expiringSentence(context: ElectionContext): Told {
  const { holder = '', reason = '', toldUntil = null } = context.former ?? {};
  const text = `${holder} was told that it leads, and keeps leading until that time is over: ${reason}`;
  return { text, next: toldUntil === null ? null : { text: `${holder} no longer leads`, at: toldUntil } };
}

const leaseName = (context: ElectionContext) => {
  const { namespace, name } = placeOf(context);
  return `the Lease ${namespace}/${name}`;
};
const because = (error: string | null) => (error === null ? '' : `: ${error}`);

function leadingSentence(standing: ElectionStanding): Told {
  const { context } = standing;
  const { reign, lastError, seen } = context;
  const holder = reign?.holder ?? '';
  const leads = leadsText(holder, reign?.term ?? context.term);
  const deadline = deadlineOf(context);
  if (isIn(standing, 'leading.yielding')) {
    const next = { text: `${holder} no longer leads`, at: deadline };
    return { text: `${leads}, and will yield: the Lease prefers ${seen?.record?.preferredHolder}`, next };
  }
  if (context.failures > 0 || isIn(standing, 'leading.retrying')) {
    const next = { text: `${holder} stops leading unless the Lease is renewed`, at: deadline };
    return { text: `${leads}, but ${leaseName(context)} is not renewed${because(lastError)}`, next };
  }
  const end = holderEnd(context);
  const next = end === null ? null : { text: `${holder} stops leading unless it renews`, at: end };
  const since = leadsSince(context);
  return { text: leads, next, ...(since === null ? {} : { since }) };
}

/** null: the Lease does not say. */
function leadsSince({ seen }: ElectionContext): number | null {
  const since = Date.parse(seen?.record?.acquireTime ?? '');
  return Number.isNaN(since) ? null : since;
}

function observingSentence({ context, at }: ElectionStanding): Told {
  const waiting = Object.keys(living(context, at)).length;
  const candidates = waiting === 0 ? 'no candidate campaigns here' : waitText(waiting);
  const holder = holderAt(context, at);
  if (holder !== null) {
    const text = `another program's candidate, ${holder}, holds ${leaseName(context)}; ${candidates}`;
    return {
      text,
      next: { text: `${leaseName(context)} expires unless it is renewed`, at: foreignEnd(context) },
    };
  }
  if (isAnotherPreferred(context, undefined) && waiting > 0) {
    return { text: `nobody leads: the Lease prefers ${context.seen?.record?.preferredHolder}`, next: null };
  }
  const advice = waiting === 0 && at >= vacantAt(context) ? vacantText : '';
  return { text: `nobody leads: ${candidates}${lastText(context, at)}${advice}`, next: null };
}

/** A program that led and neither renews nor releases its Lease may hang, or be gone. */
function lastText(context: ElectionContext, at: number): string {
  const { former, seen, term } = context;
  if (isExpired(context, at))
    return `; ${seen?.record?.holder} still has ${leaseName(context)}, and has not renewed it for ${age(at - (seen?.at ?? at))}; look whether it hangs`;
  if (former === null) return '';
  return former.term < term
    ? `; the last leader was another program's candidate, under term ${term}`
    : `; the last leader was ${former.holder}: ${former.reason}`;
}

/** An Election without candidates is at rest, and may be meant so. */
const vacantText = '. Start a candidate, or delete the Election if nothing needs it';

const waitText = (candidates: number) =>
  candidates === 1 ? '1 candidate waits here' : `${candidates} candidates wait here`;

function factsOf({ context, at }: ElectionStanding): readonly Fact[] {
  const { term, facts, reign } = context;
  const today = facts === null ? [] : [{ label: 'Terms today', value: termsToday(context, at) }];
  const { namespace, name } = placeOf(context);
  const candidates = Object.keys(living(context, at)).sort();
  const since = leadsSince(context);
  const renewed = reign?.renewedAt;
  const more = candidates.length > namesTold ? [`and ${candidates.length - namesTold} more`] : [];
  const holder = facts === null ? null : holderAt(context, at);
  return [
    { label: 'Holder', value: holder ?? 'nobody' },
    { label: 'Term', value: term },
    ...(holder === null || since === null ? [] : [{ label: 'Leads since', value: since, unit: 'time' }]),
    ...today,
    ...(renewed === undefined ? [] : [{ label: 'Renewed', value: renewed, unit: 'time' }]),
    { label: 'Candidates', value: candidates.length },
    ...(candidates.length === 0
      ? []
      : [{ label: 'Who', value: [...candidates.slice(0, namesTold), ...more].join('\n') }]),
    { label: 'Lease', value: `${namespace}/${name}` },
  ];
}
