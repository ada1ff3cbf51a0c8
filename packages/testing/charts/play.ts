/**
 * A play: one actor takes events and lets time pass, and what it does is told as text, which is kept beside
 * the test for people to read. A change of behaviour shows as a change of text.
 */
import type { Feature } from '../../../src/actors/feature.ts';
import type { ActorId } from '../../../src/base/ids.ts';
import { parseActorId } from '../../../src/base/ids.ts';
import { duration } from '../time/duration.ts';
import { ChartDriver, type DrivenStep } from './chart-driver.ts';
import type { SampleEvent } from './walk.ts';

/** An event, a time to wait, or a line of prose. */
export type PlayStep = SampleEvent | { readonly wait: string | number } | { readonly prose: string };

/**
 * Plays events to one actor of a feature. Effects do not run: their outcomes are events of the play.
 *
 * @returns a line for each step: when, from which state to which, by which event, which effects it requests,
 * and what people are told then
 * @throws Error if the feature has no such kind
 */
export function play(feature: Feature, id: ActorId, steps: readonly PlayStep[]): string {
  const { kind, namespace, name } = parseActorId(id);
  const chart = feature.kinds.find((one) => one.chart.name === kind)?.chart;
  if (chart === undefined) throw new Error(`feature ${feature.name} has no kind ${kind}`);
  const driver = new ChartDriver<SampleEvent>(chart, namespace, name);
  const lines: string[] = [];
  for (const step of steps) {
    const known = driver.steps.length;
    if ('prose' in step) lines.push(`# ${step.prose}`);
    else if ('type' in step) driver.take(step);
    else driver.wait(duration(step.wait));
    const taken = driver.steps.slice(known);
    lines.push(...taken.map(stepLine));
    if ('type' in step && taken.length === 0) lines.push(`${clock(driver)}  ${step.type} changes nothing`);
    if (taken.length > 0 && !driver.isOver) lines.push(toldLine(driver));
  }
  return `${lines.join('\n')}\n`;
}

const seconds = (ms: number) => (ms / 1_000).toFixed(3).padStart(10);
const startMs = 1_700_000_000_000;
const clock = (driver: ChartDriver<SampleEvent>) => seconds(driver.now - startMs);

function stepLine({ atMs, from, to, event, effects }: DrivenStep): string {
  const asked = effects.map(({ type, ...params }) => `${type} ${JSON.stringify(params)}`);
  const does = asked.length === 0 ? '' : `\n${' '.repeat(12)}asks for ${asked.join(`\n${' '.repeat(21)}`)}`;
  return `${seconds(atMs)}  ${from ?? 'new'} --${eventName(event.type)}--> ${to}${does}`;
}

/** A deadline is named after the state that it ends. */
function eventName(type: string): string {
  const [, delay, state] = /^xstate\.after\.([^.]+)\.(.+)$/.exec(type) ?? [];
  return state === undefined ? type : `${delay} of ${state.split('.').slice(1).join('.')} is over`;
}

function toldLine(driver: ChartDriver<SampleEvent>): string {
  const { text, health, next } = driver.told;
  const then = next ? `, then ${next.text}` : '';
  return `${' '.repeat(12)}"${text}" (${health})${then}`;
}
