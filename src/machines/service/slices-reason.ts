/** The state of a Service's EndpointSlices in words (docs/features/endpoints.md). Pure. */
import type { Fact } from '../../base/views.ts';
import { isIn, type Standing } from '../tell.ts';
import type { ServiceContext } from './service-context.ts';
import { contestText } from './slices-contest.ts';
import { sliceError } from './slices-context.ts';

type ServiceStanding = Standing<ServiceContext>;

/** null: nothing outside the cluster belongs to the Service. */
export function slicesReason(standing: ServiceStanding): string | null {
  const { slices } = standing.context;
  if (slices.facts === null || isIn(standing, 'endpoints.gone')) return null;
  const { otherWriter, selects } = slices.facts;
  if (isIn(standing, 'endpoints.ignored'))
    return selects
      ? 'the Service selects no workload outside the cluster'
      : 'the Service selects nothing, so it gets no EndpointSlices';
  const other = otherWriter === '' ? '' : `; ${otherWriter} also writes EndpointSlices for the Service`;
  return `${sentenceOf(standing)}${other}`;
}

/** Innermost states first: a state without words has those of its parent. */
const words: ReadonlyArray<readonly [string, (context: ServiceContext) => string]> = [
  ['endpoints.stuck.trying', (context) => `${stuckText(context)}; they are being written again now`],
  ['endpoints.stuck.awaitingLists', (context) => `${stuckText(context)}; ${listsText}`],
  ['endpoints.stuck', (context) => `${stuckText(context)}; retried every few minutes`],
  ['endpoints.backingOff', (context) => `the EndpointSlices could not be written, ${failuresText(context)}`],
  ['endpoints.awaitingLists', () => `the EndpointSlices wait: ${listsText}`],
  [
    'endpoints.reconciling.retrying',
    (context) => `the EndpointSlices are being written again, ${failuresText(context)}`,
  ],
  [
    'endpoints.reconciling.compacting',
    () => 'the endpoints are being moved into half as many EndpointSlices',
  ],
  ['endpoints.reconciling', () => 'the EndpointSlices are being updated to match the workloads'],
  ['endpoints.written.contested', ({ slices }) => contestedText(slices)],
  ['endpoints.written.sparse', () => 'the EndpointSlices match the workloads; half as many would do'],
  ['endpoints.written.settling', () => 'the EndpointSlices match the workloads, after a burst of changes'],
  ['endpoints', () => 'the EndpointSlices match the workloads'],
];

const contestedText = ({ contest }: ServiceContext['slices']) =>
  contest ? `${contestText(contest)}; the next one waits a moment` : '';

const listsText = 'nothing is written until Services, workloads and slices have all been listed again';

function sentenceOf(standing: ServiceStanding): string {
  const [, say] = words.find(([state]) => isIn(standing, state)) ?? [];
  return say?.(standing.context) ?? '';
}

const stuckText = (context: ServiceContext) =>
  `the EndpointSlices cannot be written, ${failuresText(context)}`;

function failuresText(context: ServiceContext): string {
  const { failures } = context.slices;
  const tries = `${failures} ${failures === 1 ? 'try' : 'tries'}`;
  // News of a stuck Service start the count anew.
  return `${failures === 0 ? 'the last try' : tries} failed: ${sliceError(context)}`;
}

export function slicesFacts({ slices }: ServiceContext): readonly Fact[] {
  if (slices.facts === null) return [];
  const { otherWriter } = slices.facts;
  return [
    ...(slices.endedAt === 0 ? [] : [{ label: 'Slices looked at', value: slices.endedAt, unit: 'time' }]),
    ...(slices.failures === 0 ? [] : [{ label: 'Failed tries', value: slices.failures }]),
    ...(otherWriter === '' ? [] : [{ label: 'Other controller', value: otherWriter }]),
  ];
}
