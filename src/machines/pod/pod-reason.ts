/**
 * Why a Pod is where it is: the words of its condition, any failure to write it, and what happens next. Pure.
 */
import type { Fact } from '../../base/views.ts';
import { isIn, type Standing, type Told, tells } from '../tell.ts';
import {
  askPauseMs,
  doubtPatienceMs,
  oldestDoubt,
  type PodContext,
  unproven,
  unverifiable,
} from './pod-context.ts';
import { foreignMessage, heldMessage, lostMessage, missingList, objectName, opened } from './pod-words.ts';

type PodStanding = Standing<PodContext>;

export const tellPod = tells<PodContext>((standing): Told => {
  const next = nextOf(standing);
  return {
    text: textOf(standing),
    facts: factsOf(standing.context),
    ...(next === undefined ? {} : { next }),
  };
});

/** Innermost states first: a state without words has those of its parent. */
const words: ReadonlyArray<readonly [string, (context: PodContext) => string]> = [
  ['gone', () => 'The Pod no longer exists.'],
  ['terminating', () => 'The Pod is being deleted or has ended; nothing more is asked or written.'],
  [
    'ungated',
    ({ facts }) =>
      `The Pod does not list ${facts?.gate.conditionType ?? ''} in spec.readinessGates: RouteGate ${facts?.gate.name ?? ''} does not hold it back.`,
  ],
  [
    'gated.notApplicable',
    ({ facts }) =>
      facts?.unselected !== undefined
        ? foreignMessage(facts)
        : `The object that owns the Pod's group does not match what RouteGate ${facts?.gate.name ?? ''} requires: that verifies nothing, and does not set ${facts?.gate.conditionType ?? ''}.`,
  ],
  ['gated.stranded', ({ facts }) => (facts === null ? '' : foreignMessage(facts))],
  [
    'gated.groupMissing.reported',
    (context) => `${heldMessage(context)} A Warning Event on the Pod says so.${unwritten(context)}`,
  ],
  ['gated.groupMissing', held],
  ['gated.waitingForAddress', held],
  ['gated.invalid', held],
  ['gated.proving', held],
  ['gated.marking.patching', (context) => `${opened(context).message} The condition is being written.`],
  [
    'gated.marking.outdated',
    () =>
      "The Pod's address changed while its condition was being written; the condition is withdrawn once that write has landed.",
  ],
  [
    'gated.marking.retrying.backingOff',
    (context) => `${opened(context).message} The condition could not be written, ${failures(context)}.`,
  ],
  [
    'gated.marking.retrying.waitingForNews',
    () =>
      'The Pod was missing, or had been replaced, when its condition was to be written; Orrery waits to see what happened to it.',
  ],
  [
    'gated.ready.doubted',
    (context) => `${missingList(context)} The condition is set to False unless they do so in time.`,
  ],
  ['gated.ready', ready],
  [
    'gated.lost.backingOff',
    (context) => `${lostMessage(context)} The condition could not be set to False, ${failures(context)}.`,
  ],
  ['gated.lost', (context) => `${lostMessage(context)} The condition is being set to False.`],
];

function textOf(standing: PodStanding): string {
  const [, say] = words.find(([state]) => isIn(standing, state)) ?? [];
  return say?.(standing.context) ?? 'Nothing is known about the Pod yet.';
}

/** What the condition of a held Pod says, or is about to say. */
function held(context: PodContext): string {
  return `${heldMessage(context)}${unwritten(context)}`;
}

/** `told` has no reason: the last write failed and is repeated. */
const unwritten = ({ told, lastError }: PodContext) =>
  told?.reason === '' ? ` The condition could not be written: ${lastError ?? 'unknown error'}.` : '';

const failures = ({ failures: count, lastError }: PodContext) =>
  `${count === 1 ? 'once' : `${count} times in a row`}: ${lastError ?? 'unknown error'}`;

/** What was seen, and what a condition vouches for that was already True. */
function ready(context: PodContext): string {
  const { adopted, facts } = context;
  if (adopted.length === 0 && unproven(context).length === 0) return opened(context).message;
  const total = Object.keys(facts?.services ?? {}).length;
  if (adopted.length > 0)
    return `The condition was True when the Pod was first seen, which counts for ${adopted.length} of ${total} Services.`;
  return `The condition is True, and RouteGate ${facts?.gate.name ?? ''} says keep; ${unproven(context).length} of ${total} Services came later, were lost, or had not reached the Pod when somebody else set it.`;
}

function nextOf(standing: PodStanding): Told['next'] | undefined {
  const { context } = standing;
  if (isIn(standing, 'gated.ready.doubted')) {
    const since = oldestDoubt(context)?.since ?? standing.since;
    return { text: 'the condition is set to False', at: since + doubtPatienceMs };
  }
  const isAsking = isIn(standing, 'gated.proving') && !isIn(standing, 'gated.proving.telling');
  if (isAsking && context.asked.length > 0)
    return { text: 'the Services are asked again', at: context.askedAt + askPauseMs(context) };
  // `lookAgain` only catches lost reports; nobody waits for it.
  return isIn(standing, 'gated.ready.proven') ? null : undefined;
}

function factsOf(context: PodContext): readonly Fact[] {
  const { facts, heldSince, proofs } = context;
  if (facts === null) return [];
  const { gate, address, services } = facts;
  return [
    { label: 'RouteGate', value: gate.name },
    { label: 'Condition', value: `${gate.conditionType} ${facts.condition ?? 'unset'}` },
    { label: 'Address', value: address === null ? '-' : 'ip' in address ? address.ip : address.invalid },
    { label: 'Services', value: Object.keys(services).length },
    {
      label: 'Proven',
      value: Object.entries(services).filter(([name, uid]) => uid !== null && proofs[name] === uid).length,
    },
    { label: 'Not verified', value: Object.keys(unverifiable(context)).length },
    { label: 'Missing', value: unproven(context).map(objectName).slice(0, 20).join(', ') || '-' },
    ...(heldSince === null ? [] : [{ label: 'Held since', value: heldSince, unit: 'time' }]),
  ];
}
