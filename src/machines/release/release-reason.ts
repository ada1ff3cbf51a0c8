/**
 * Why a release stands as it does: one sentence for each state, and further facts. The Release's conditions
 * and Events use the same sentences. Pure.
 */
import type { Fact } from '../../base/views.ts';
import { isIn, type Standing, type Told, tells } from '../tell.ts';
import { withUnwrittenText } from '../unwritten.ts';
import {
  type ChangingRound,
  contestedMin,
  driftPauseMs,
  hindrances,
  type ReleaseContext,
  timesContested,
} from './release-context.ts';
import { isOlder, type NodeFacts, newestRelease } from './release-table.ts';

type ReleaseStanding = Standing<ReleaseContext>;
/** As in the chart. */
const formerPatienceMs = 5_000;
const roundIntervalMs = 30_000;
/** Objects of the last change to name. */
const changesTold = 10;

const objects = ({ bundle }: ReleaseContext) =>
  bundle.objects === 1 ? '1 object' : `${bundle.objects} objects`;
const release = ({ bundle }: ReleaseContext) => `release ${bundle.release}`;

export const standsText = (context: ReleaseContext): string =>
  `${release(context)} is applied: ${objects(context)}`;
export const waitsText = (context: ReleaseContext, waitingFor: readonly string[]): string =>
  `${release(context)} waits: ${waitingFor.join('; ')}`;
export const failsText = (context: ReleaseContext): string =>
  `${release(context)} is not applied: ${context.lastError ?? 'a round failed'}`;
export const worksText = (context: ReleaseContext): string =>
  `${context.leader} applies ${release(context)}: ${objects(context)}${toGoText(context)}`;

const toGoText = ({ toGo = null }: ReleaseContext) => (toGo === null ? '' : `, ${toGo} still to go`);

export const retiredText = ({ name }: ReleaseContext): string =>
  `the replicas now have a bundle with another name than ${name}`;

export const tellRelease = tells<ReleaseContext>((standing) => {
  const facts = factsOf(standing.context);
  const { text, ...more } = sentenceOf(standing);
  const told = { ...more, text: withUnwrittenText(text, standing.context, 'releases') };
  return { ...told, ...(isIn(standing, 'leaderless') ? {} : { facts }) };
});

function sentenceOf(standing: ReleaseStanding): Told {
  const { context } = standing;
  if (isIn(standing, 'leaderless')) return { text: 'no replica leads the releases yet', next: null };
  if (isIn(standing, 'retired')) {
    return { text: retiredText(context), next: null };
  }
  if (isIn(standing, 'deposed')) {
    return { text: `another replica leads now instead of ${context.leader}`, next: null };
  }
  if (isIn(standing, 'leading.keeping')) return keptSentence(standing);
  if (isIn(standing, 'leading.applying')) return appliedSentence(standing);
  return preparedSentence(standing);
}

function preparedSentence(standing: ReleaseStanding): Told {
  const { context, since } = standing;
  if (isIn(standing, 'leading.waitingForNodes') || isIn(standing, 'leading.heldUp')) {
    return { text: waitsText(context, hindrances(context)), next: null };
  }
  if (isIn(standing, 'leading.lettingEnd')) {
    const text = `${context.leader} leads, and waits for requests of a former leader to finish`;
    return { text, next: { text: `${release(context)} is applied`, at: since + formerPatienceMs } };
  }
  if (isIn(standing, 'leading.marking')) return { text: `${standsText(context)}; that is being written` };
  const error = context.lastError === null ? '' : `, after ${context.lastError}`;
  return { text: `${context.leader} writes what ${release(context)} will change${error}` };
}

function appliedSentence(standing: ReleaseStanding): Told {
  const { context } = standing;
  if (!isIn(standing, 'leading.applying.retrying')) return { text: worksText(context) };
  const at = (context.roundEndedAt ?? standing.since) + context.retryInMs;
  return { text: failsText(context), next: { text: 'the round is repeated', at } };
}

function keptSentence(standing: ReleaseStanding): Told {
  const { context } = standing;
  const at = (context.roundEndedAt ?? standing.since) + roundIntervalMs;
  const next = { text: 'the objects are compared again', at };
  if (isIn(standing, 'leading.keeping.failing')) return { text: failsText(context), next };
  if (isIn(standing, 'leading.keeping.resting')) return { text: standsText(context), next };
  if (isIn(standing, 'leading.keeping.pausing') || isIn(standing, 'leading.keeping.contested')) {
    return pausedSentence(context, standing.since);
  }
  const since = context.lastError === null ? '' : `, after a failed round: ${context.lastError}`;
  return {
    text: `${context.leader} compares ${objects(context)} with ${release(context)}${toGoText(context)}${since}`,
  };
}

function pausedSentence(context: ReleaseContext, since: number): Told {
  const { drift } = context;
  const names = drift.join(', ');
  const pauseMs = driftPauseMs(context, drift);
  const next = { text: 'the objects are compared again', at: (context.roundEndedAt ?? since) + pauseMs };
  if (timesContested(context, drift) < contestedMin)
    return { text: `${names} drifted right after a round; the next one waits a second`, next };
  return { text: contestedText(context, drift), next };
}

/** Another controller, or a person, wants an object otherwise. */
export const contestedText = (context: ReleaseContext, objects: readonly string[]): string =>
  `${objects.join(', ')} drifted ${timesContested(context, objects)} times in a row, each time after it was put back: something else writes it too (its managedFields name who); it is put back less and less often`;

function factsOf(context: ReleaseContext): readonly Fact[] {
  const { leader, bundle, seen, waitingFor, drift, lastApplied, nodes, changes } = context;
  const { status, unreadable } = seen;
  const written =
    status === null
      ? (unreadable ?? 'nothing')
      : `${status.state}, release ${status.release}, at least ${status.minimumCompatible}`;
  const last = changes.at(-1);
  const newest = newestRelease(nodes);
  return [
    { label: 'Release', value: bundle.release },
    { label: 'Leader', value: leader },
    ...(last === undefined ? [] : changeFacts(last)),
    { label: 'Objects', value: bundle.objects },
    { label: 'Written', value: written },
    ...lines('Waiting for', waitingFor),
    ...(lastApplied === null ? [] : [{ label: 'Applied', value: lastApplied, unit: 'time' }]),
    ...lines('Drifted', drift),
    ...lines(
      'Replicas',
      nodes.map((node) => placeText(node, newest, leader)),
    ),
  ];
}

/** When the last deploy changed which objects; `explain` shows the fields. */
function changeFacts({ at, made, changed, pruned, more }: ChangingRound): readonly Fact[] {
  const named = [
    ...made.map((object) => `made ${object}`),
    ...changed.map(({ object }) => `changed ${object}`),
    ...pruned.map((object) => `deleted ${object}`),
  ];
  const rest = Math.max(0, named.length - changesTold) + more;
  const told = [...named.slice(0, changesTold), ...(rest === 0 ? [] : [`and ${rest} more`])];
  return [{ label: 'Last change', value: at, unit: 'time' }, ...lines('Changed', told)];
}

const lines = (label: string, values: readonly string[]): readonly Fact[] =>
  values.length === 0 ? [] : [{ label, value: values.join('\n') }];

/** A replica, and whether it may lead (§2.1). */
export const replicaText = (node: NodeFacts, nodes: readonly NodeFacts[], leader: string): string =>
  placeText(node, newestRelease(nodes), leader);

function placeText(
  { replica, release: own, bundle }: NodeFacts,
  newest: string | null,
  leader: string,
): string {
  const about = (text: string) => `${replica} ${own} (${text})`;
  if (replica === leader) return about('leads');
  if (bundle === null) return about('no bundle: never leads');
  if (newest !== null && isOlder(own, newest)) return about(`may not lead: older than ${newest}`);
  return about('may lead');
}
