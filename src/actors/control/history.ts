/**
 * An actor's history: its transitions from the event stream, each with the resulting context.
 *
 * The stream does not contain contexts. A chart is pure (I7) and each recorded event carries its stamp, so
 * contexts are recomputed by replaying the events from the actor's first step. If the recording does not
 * reach back that far, or a step gives another result (the chart's version was different), contexts are
 * missing until the actor's next first step.
 */

import { attempt } from '../../base/errors.ts';
import { type ActorId, parseActorId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { HistoryStep, HistoryView, Transition } from '../../base/views.ts';
import type { Chart } from '../../machines/chart.ts';
import type { HostParts } from '../host/host-parts.ts';
import { createStepper, type Snapshot, type StampedEvent, type Stepper, stateText } from '../host/step.ts';

const dayMs = 24 * 3_600_000;

/** @throws OrreryError BUS_UNREACHABLE */
export async function readHistory(
  parts: Pick<HostParts, 'bus' | 'subjects' | 'clock'> & { readonly charts: readonly Chart[] },
  id: ActorId,
): Promise<HistoryView> {
  const { bus, subjects, clock } = parts;
  const memory = createMemory(parts.charts, id);
  const steps: HistoryStep[] = [];
  let left = 0;
  const text = new TextDecoder();
  const following = await bus.follow('event', {
    subjects: [subjects.eventsOf(id)],
    from: { kind: 'time', at: clock.now() - dayMs },
    onMessage: ({ data }) => {
      const step = JSON.parse(text.decode(data)) as Transition;
      const context = memory.take(step);
      steps.push(context === undefined ? step : { ...step, context });
      if (steps.length <= limits.historySteps) return;
      steps.shift();
      left++;
    },
  });
  let timer = { cancel() {} };
  const overdue = new Promise<void>((resolve) => {
    timer = clock.after(limits.historyMs, resolve);
  });
  await Promise.race([following.caughtUp, overdue]);
  timer.cancel();
  void following.stop();
  return { steps: withinBytes(steps), left };
}

/** Replays an actor's recorded steps one by one, and returns the context after each if possible. */
export function createMemory(charts: readonly Chart[], id: ActorId): { take(step: Transition): unknown } {
  const stepper = stepperOf(charts, id);
  let snapshot: Snapshot | null = null;
  return {
    take({ from, to, event, resumes }) {
      if (stepper && resumes !== undefined) snapshot = resumed(stepper, resumes);
      if (!stepper || (snapshot === null && from !== null)) return undefined;
      try {
        const stamped = event as unknown as StampedEvent;
        const input = { id, ...parseActorId(id) };
        const result =
          from === null || snapshot === null
            ? stepper.begin(input, stamped)
            : stepper.step(snapshot, stamped);
        snapshot = result.done || stateText(result.snapshot.value) !== to ? null : result.snapshot;
        return snapshot === null && !result.done ? undefined : result.snapshot.context;
      } catch {
        // The chart had another version then, so its context is unknown.
        snapshot = null;
        return undefined;
      }
    },
  };
}

/** null: another version, or too large to have been recorded. */
function resumed(stepper: Stepper, resumes: Transition['resumes']): Snapshot | null {
  return attempt(() => (resumes ? stepper.restore(resumes, stepper.chart.version) : null), null);
}

function stepperOf(charts: readonly Chart[], id: ActorId): Stepper | null {
  const { kind } = parseActorId(id);
  const chart = charts.find(({ name, durable }) => durable && name === kind);
  return chart ? createStepper(chart) : null;
}

/** Keeps the newest contexts that fit; older steps keep their states only. */
function withinBytes(steps: readonly HistoryStep[]): HistoryStep[] {
  let room: number = limits.historyBytes;
  return steps
    .toReversed()
    .map((step) => {
      const { context, ...bare } = step;
      room -= JSON.stringify(step).length;
      return room > 0 || context === undefined ? step : bare;
    })
    .reverse();
}
