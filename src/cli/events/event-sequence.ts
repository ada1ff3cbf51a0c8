/**
 * The steps that one step led to, across actors, for `orrery events ID@REV`: each below its cause.
 */

import { indexOfStep, type StepName } from '../../actors/step-order.ts';
import { systemClock } from '../../base/clock.ts';
import { OrreryError } from '../../base/errors.ts';
import type { StoredPort } from '../../base/views.ts';
import { change, eventName, shownTime } from '../../base/words.ts';
import { readSequence, type SequenceView } from '../../inspector/events/sequence.ts';
import { type KindsKnown, readKnownId } from '../actor-argument.ts';
import type { Terminal } from '../terminal.ts';

/** `pod/shop/web-0@12`; null: no revision given. @throws OrreryError USAGE */
export async function readStepName(
  text: string,
  kinds: KindsKnown,
  namespace?: string,
): Promise<Omit<StepName, 'by'> | null> {
  const [, id, rev] = /^(.+)@(\d+)$/.exec(text) ?? [];
  return id === undefined || rev === undefined
    ? null
    : { id: await readKnownId(id, kinds, namespace), rev: Number(rev) };
}

/** @throws OrreryError ACTOR_MISSING if the step is not stored */
export async function sequenceOf(stored: Pick<StoredPort, 'history'>, name: StepName): Promise<SequenceView> {
  const view = await readSequence(stored, name, systemClock.now());
  if (view !== null) return view;
  const by = name.by === null ? '' : `, taken by ${shownTime(name.by, false)},`;
  throw new OrreryError(
    'ACTOR_MISSING',
    `there is no step ${name.rev} of ${name.id}${by} in the last 24 hours`,
  );
}

/** The lines: time after the first step, actor with revision, and the step. */
export function sequenceLines(
  { steps, isCut }: SequenceView,
  name: StepName,
  isUtc: boolean,
  { style }: Pick<Terminal, 'style'>,
): readonly string[] {
  const began = steps[0]?.step.at ?? 0;
  const asked = indexOfStep(
    steps.map(({ step }) => step),
    name,
  );
  const width = Math.max(0, ...steps.map(({ step }) => after(step.at, began).length));
  return [
    `began ${shownTime(began, isUtc)}`,
    ...steps.map(({ step, depth }, index) => {
      const isAsked = index === asked;
      const name = `${step.id}@${step.rev}`;
      const branch = depth === 0 ? '' : `${'  '.repeat(depth - 1)}└ `;
      const text = `${isAsked ? style('bold', name) : name}  ${eventName(step.event.type)}: ${change(step)}`;
      return `${after(step.at, began).padStart(width)}  ${branch}${text}${isAsked ? style('dim', '  ← this one') : ''}`;
    }),
    ...(isCut ? [style('dim', 'more steps are not shown')] : []),
  ];
}

/** Negative where the clocks of two replicas differ. */
const after = (at: number, began: number) => `${at < began ? '' : '+'}${at - began} ms`;
