/**
 * The steps that one step led to, across actors, for `orrery events ID@REV`: each below its cause.
 */
import { OrreryError } from '../../base/errors.ts';
import type { ActorId } from '../../base/ids.ts';
import type { StoredPort } from '../../base/views.ts';
import { change, eventName, shownTime } from '../../base/words.ts';
import { readSequence, type SequenceView } from '../../inspector/events/sequence.ts';
import { type KindsKnown, readKnownId } from '../actor-argument.ts';
import type { Terminal } from '../terminal.ts';

export interface StepName {
  readonly id: ActorId;
  readonly rev: number;
}

/** `pod/shop/web-0@12`; null: no revision given. @throws OrreryError USAGE */
export async function readStepName(text: string, kinds: KindsKnown): Promise<StepName | null> {
  const [, id, rev] = /^(.+)@(\d+)$/.exec(text) ?? [];
  return id === undefined || rev === undefined
    ? null
    : { id: await readKnownId(id, kinds), rev: Number(rev) };
}

/** @throws OrreryError ACTOR_MISSING if the step is not stored */
export async function sequenceOf(
  stored: Pick<StoredPort, 'history'>,
  { id, rev }: StepName,
): Promise<SequenceView> {
  const view = await readSequence(stored, { id, rev, at: 0 });
  if (view !== null) return view;
  throw new OrreryError('ACTOR_MISSING', `there is no step ${rev} of ${id} in the last 24 hours`);
}

/** The lines: time after the first step, actor with revision, and the step. */
export function sequenceLines(
  { steps, isCut }: SequenceView,
  { id, rev }: StepName,
  isUtc: boolean,
  { style }: Pick<Terminal, 'style'>,
): readonly string[] {
  const began = steps[0]?.step.at ?? 0;
  const width = Math.max(0, ...steps.map(({ step }) => after(step.at, began).length));
  return [
    `began ${shownTime(began, isUtc)}`,
    ...steps.map(({ step, depth }) => {
      const isAsked = step.id === id && step.rev === rev;
      const name = `${step.id}@${step.rev}`;
      const branch = depth === 0 ? '' : `${'  '.repeat(depth - 1)}└ `;
      const text = `${isAsked ? style('bold', name) : name}  ${eventName(step.event.type)}: ${change(step)}`;
      return `${after(step.at, began).padStart(width)}  ${branch}${text}${isAsked ? style('dim', '  ← this one') : ''}`;
    }),
    ...(isCut ? [style('dim', 'more steps are not shown')] : []),
  ];
}

const after = (at: number, began: number) => `+${at - began} ms`;
