/** Counts what happened in simulations, by kind, and sums it up for people. */

import { faultKinds } from '../../packages/testing/simulation/fault-kinds.ts';
import type { Sighting } from '../../packages/testing/simulation/sightings.ts';
import type { Outcome } from '../../test/sim/simulation.ts';

/** How often each kind of thing happened. */
export type Tally = Readonly<Record<string, number>>;

export type Tallied = Outcome & { readonly feature: string; readonly done: Tally };

export function createTally(): { see(sighting: Sighting): void; readonly done: Tally } {
  const done: Record<string, number> = {};
  return {
    done,
    see(sighting) {
      if (sighting.kind !== 'done') return;
      const kind = kindIn(sighting.text);
      if (kind !== null) done[kind] = (done[kind] ?? 0) + 1;
    },
  };
}

/** `kill at a save: r0` is a kill; `r0 starts` was not done to it. */
function kindIn(text: string): string | null {
  const [before, what] = text.split(': ', 2);
  return what === undefined || before === undefined ? null : before.replace(/ at a save$/, '');
}

const hourMs = 3_600_000;

/** Lines that say what a run consisted of, as evidence on a page. */
export function summary(outcomes: readonly Tallied[], seconds: number): readonly string[] {
  const features = [...Map.groupBy(outcomes, ({ feature }) => feature)];
  const done = new Map<string, number>();
  for (const outcome of outcomes)
    for (const [kind, times] of Object.entries(outcome.done)) done.set(kind, (done.get(kind) ?? 0) + times);
  const isFault = (kind: string) => (faultKinds as readonly string[]).includes(kind);
  return [
    `hours by feature: ${features.map(([name, all]) => `${name} ${hoursOf(all).toFixed(1)}`).join(', ')}`,
    `faults: ${counted(done, isFault)}`,
    `changes: ${counted(done, (kind) => !isFault(kind))}`,
    `${grouped(sumOf(outcomes, ({ steps }) => steps))} steps were saved; checkers looked ${grouped(sumOf(outcomes, ({ checks }) => checks))} times`,
    totals(outcomes, seconds),
  ];
}

function totals(outcomes: readonly Tallied[], seconds: number): string {
  const hours = hoursOf(outcomes);
  const broken = outcomes.filter(({ breach }) => breach !== null).length;
  const cpu = process.cpuUsage();
  return (
    `${outcomes.length} seeds, ${broken} broken: ${hours.toFixed(2)} simulated hours in ${seconds.toFixed(0)} s, ` +
    `${(hours / seconds).toFixed(3)} simulated hours a second (${((cpu.user + cpu.system) / 1e6).toFixed(0)} s of processors)`
  );
}

const sumOf = (outcomes: readonly Tallied[], of: (outcome: Tallied) => number) =>
  outcomes.reduce((total, one) => total + of(one), 0);
const hoursOf = (outcomes: readonly Tallied[]) => sumOf(outcomes, ({ simulatedMs }) => simulatedMs) / hourMs;
const grouped = (count: number) => count.toLocaleString('en');

function counted(done: ReadonlyMap<string, number>, isMeant: (kind: string) => boolean): string {
  const found = [...done].filter(([kind]) => isMeant(kind)).sort((a, b) => b[1] - a[1]);
  const all = found.reduce((total, [, times]) => total + times, 0);
  return `${grouped(all)} (${found.map(([kind, times]) => `${kind} ${grouped(times)}`).join(', ')})`;
}
