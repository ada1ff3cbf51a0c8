/**
 * An actor's history: its transitions from the event stream, each with the resulting context.
 *
 * The stream does not contain contexts. A chart is pure (I7) and each recorded event carries its stamp, so
 * contexts are recomputed by replaying the events from the actor's first step. If the recording does not
 * reach back that far, or a step gives another result (the chart's version was different), contexts are
 * missing until the actor's next first step.
 */

import { sleep } from '../../base/clock.ts';
import { attempt, OrreryError } from '../../base/errors.ts';
import { type ActorId, parseActorId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { HistoryStep, HistoryView, Transition } from '../../base/views.ts';
import type { Bus, StoredMessage } from '../../bus/bus.ts';
import type { Chart } from '../../machines/chart.ts';
import type { HostParts } from '../host/host-parts.ts';
import { createStepper, type Snapshot, type StampedEvent, type Stepper, stateText } from '../host/step.ts';
import { dayMs, readStep } from './stored-pages.ts';

/**
 * The newest `limits.historySteps` steps that fit into `limits.historyBytes`; older ones are counted in
 * `left`. Whoever offers it bounds how many are read at once.
 *
 * @throws OrreryError BUS_UNREACHABLE
 */
export async function readHistory(
  parts: { readonly bus: Pick<Bus, 'follow'>; readonly charts: readonly Chart[] } & Pick<
    HostParts,
    'subjects' | 'clock'
  >,
  id: ActorId,
): Promise<HistoryView> {
  const { bus, subjects, clock } = parts;
  const memory = createMemory(parts.charts, id);
  const held: HeldStep[] = [];
  let bytes = 0;
  let left = 0;
  const onMessage = (message: StoredMessage): void => {
    for (const step of readStep(message)) {
      const context = memory.take(step);
      held.push({
        step: context === undefined ? step : { ...step, context },
        bytes: message.data.byteLength,
      });
      bytes += message.data.byteLength;
    }
    while (held.length > limits.historySteps || bytes > limits.historyBytes) {
      bytes -= held.shift()?.bytes ?? bytes;
      left++;
    }
  };
  const ending = new AbortController();
  const from = { kind: 'time', at: clock.now() - dayMs } as const;
  const { signal } = ending;
  const subject = subjects.eventsOf(id);
  const beginning = bus.follow('event', { subjects: [subject], from, onMessage, signal });
  const whole = beginning.then(({ caughtUp }) => caughtUp).then(() => 'whole' as const);
  const late = sleep(clock, limits.historyMs, signal).then(() => 'late' as const);
  late.catch(() => {});
  const end = await Promise.race([whole, late]).finally(() => {
    ending.abort();
    beginning.then((following) => following.stop()).catch(() => {});
  });
  if (end === 'late' && held.length === 0)
    throw new OrreryError('BUS_UNREACHABLE', 'the event stream did not answer in time');
  return { steps: withinBytes(held, limits.historyBytes - bytes), left };
}

interface HeldStep {
  readonly step: HistoryStep;
  /** As stored, without the context. */
  readonly bytes: number;
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
function withinBytes(held: readonly HeldStep[], room: number): HistoryStep[] {
  return held
    .toReversed()
    .map(({ step }) => {
      const { context, ...bare } = step;
      if (room <= 0 || context === undefined) return bare;
      room -= JSON.stringify(context).length;
      return room > 0 ? step : bare;
    })
    .reverse();
}
