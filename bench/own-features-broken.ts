/**
 * Part of bench/own-features.ts: two replicas as processes, a calm feature and one that breaks. Measures how
 * long a message to a calm actor takes to its saved step, before and while the other feature breaks.
 */
import { systemClock as clock, sleep } from '../src/base/clock.ts';
import { encode } from '../src/bus/codec.ts';
import { subjects as subjectsOf } from '../src/bus/subjects.ts';
import { type OwnStage, startOwnStage } from '../test/api/own-stage.ts';
import { calm, rogue } from '../test/api/rogue.ts';

const subjects = subjectsOf('own');
const rogues = 20;
const calmActors = 40;
/** Between two messages, ms. */
const pauseMs = 15;
/** Messages of one kind to each broken actor. */
const cases: ReadonlyArray<readonly [what: string, word: string, times: number]> = [
  ['its charts throw', 'throw', 20],
  ['its charts go round for ever', 'circle', 20],
  ['its contexts are larger than a record may be', 'swell', 20],
  ['its records have 400 KB and change again and again', 'fatten', 20],
  ['its effects never end', 'wait', 1],
  ['it floods messages', 'shout', 1],
];

type Row = (what: string, value: string) => void;

function quantiles(times: readonly number[]): { p50: number; p99: number } {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (part: number) => sorted[Math.floor(sorted.length * part)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

/**
 * Sends to calm actors in turn, and waits for their steps in the feed.
 * @returns ms of each
 */
async function latencies({ bus }: OwnStage, seconds: number): Promise<number[]> {
  const sentAt = new Map<string, number>();
  const times: number[] = [];
  const heard = bus.subscribe('orrery.own.event.calm.>', ({ subject }) => {
    const id = subject.split('.').slice(3).join('/');
    const sent = sentAt.get(id);
    if (sent !== undefined) times.push(clock.monotonic() - sent);
    sentAt.delete(id);
  });
  const until = clock.monotonic() + seconds * 1_000;
  for (let n = 0; clock.monotonic() < until; n++) {
    const id = `calm/shop/c${n % calmActors}`;
    if (!sentAt.has(id)) {
      sentAt.set(id, clock.monotonic());
      await bus.append(subjects.send(id as never), encode({ type: 'calm.go' }));
    }
    await sleep(clock, pauseMs);
  }
  await sleep(clock, 2_000);
  heard.stop();
  for (const since of sentAt.values()) times.push(clock.monotonic() - since);
  return times;
}

const told = ({ p50, p99 }: { p50: number; p99: number }) =>
  `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`;

export async function measureBroken(options: {
  readonly seconds: number;
  readonly program: string | undefined;
  readonly row: Row;
}): Promise<void> {
  const { seconds, row } = options;
  for (const [what, word, times] of cases) {
    const stage = await startOwnStage({
      replicas: 2,
      features: { 'rogue.ts': rogue, 'calm.ts': calm },
      ...(options.program === undefined ? {} : { program: options.program }),
    });
    try {
      await Promise.all([stage.untilReady(0), stage.untilReady(1)]);
      await begin(stage);
      const before = quantiles(await latencies(stage, seconds));
      const measuring = latencies(stage, seconds);
      for (let n = 0; n < times; n++) await toRogues(stage, `rogue.${word}`);
      const during = quantiles(await measuring);
      row(`others, before ${what}`, told(before));
      row('others, meanwhile', `${told(during)} (${(during.p50 / before.p50).toFixed(2)} ×)`);
    } finally {
      await stage.stop();
    }
  }
}

async function begin(stage: OwnStage): Promise<void> {
  await toRogues(stage, 'rogue.begin');
  await latencies(stage, 3);
}

async function toRogues(stage: OwnStage, type: string): Promise<void> {
  const names = Array.from({ length: rogues }, (_, n) => `rogue/shop/r${n}`);
  await Promise.all(names.map((id) => stage.send(id, { type })));
}
