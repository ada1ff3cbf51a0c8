/**
 * A watchdog thread: notices when the replica's own thread no longer yields.
 *
 * A replica runs on one thread, so code of a loaded feature that never yields stops all of it: its
 * heartbeats, its answers, its log. Other replicas take its shards over within seconds. Promises: the log
 * names the feature whose code it was, and the process exits, so that it is restarted; a stall outside such
 * code is given longer. Time in which the whole process was suspended does not count, and a process with a
 * debugger is left alone. Owns the thread and the memory that the two share; absent: how the code is called
 * (actors/time/care.ts), and what happens to the actors.
 */
import { url as debuggerUrl } from 'node:inspector';
import { Worker } from 'node:worker_threads';
import type { Feature } from '../../actors/feature.ts';
import { type Care, createCare, type Marks, noCare } from '../../actors/time/care.ts';
import { machineClock } from '../../actors/time/machine-clock.ts';
import { type Clock, systemClock, type Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log-port.ts';

/** How often the thread checks, and the replica reports that it yields. */
const tickMs = 1_000;
/** A feature's call that lasts for this many checks will not return: calls take microseconds. */
const ticksInCall = 5;
/** The same for a stall outside known calls; the replica's own heaviest work takes a tenth of it. */
const ticksOutside = 30;
const textBytes = 512;

/** What the thread receives: the shared memory and its constants, because it cannot refer to this file. */
interface Shared {
  readonly numbers: Int32Array;
  readonly text: Uint8Array;
  readonly wallMs: Float64Array;
  readonly signs: typeof signs;
  readonly tickMs: number;
  readonly ticksInCall: number;
  readonly ticksOutside: number;
  readonly facts: Readonly<Record<string, string>>;
}

/** Positions of numbers that both threads see. */
const signs = { yields: 0, calls: 1, isInside: 2, textLength: 3, isOver: 4, isDebugged: 5 } as const;

export interface StallWatch extends Marks {
  stop(): Promise<void>;
}

/** @param facts added to the line that the thread writes */
export function startStallWatch(clock: Clock, facts: Readonly<Record<string, string>>): StallWatch {
  const numbers = new Int32Array(new SharedArrayBuffer(4 * Object.keys(signs).length));
  const text = Buffer.from(new SharedArrayBuffer(textBytes));
  const wallMs = new Float64Array(new SharedArrayBuffer(8));
  const workerData: Shared = { numbers, text, wallMs, signs, tickMs, ticksInCall, ticksOutside, facts };
  const thread = new Worker(`(${watchOver.toString()})()`, { eval: true, workerData });
  thread.unref();
  let timer: Timer | null = null;
  const say = () => {
    wallMs[0] = clock.now();
    Atomics.store(numbers, signs.isDebugged, debuggerUrl() === undefined ? 0 : 1);
    Atomics.add(numbers, signs.yields, 1);
    timer = clock.after(tickMs, say);
  };
  say();
  return {
    enter(feature, what) {
      Atomics.add(numbers, signs.calls, 1);
      Atomics.store(numbers, signs.textLength, text.write(`${feature}\n${what}`));
      Atomics.store(numbers, signs.isInside, 1);
    },
    leave: () => void Atomics.store(numbers, signs.isInside, 0),
    async stop() {
      timer?.cancel();
      Atomics.store(numbers, signs.isOver, 1);
      Atomics.notify(numbers, signs.isOver);
      await thread.terminate();
    },
  };
}

/** Runs in the thread, as text, so it must not refer to anything outside itself. */
function watchOver(): void {
  const { workerData } = process.getBuiltinModule('node:worker_threads');
  const { writeSync } = process.getBuiltinModule('node:fs');
  const { numbers, text, wallMs, signs, tickMs, ticksInCall, ticksOutside, facts } = workerData as Shared;
  let seen = { yields: -1, calls: -1 };
  let ticks = 0;
  let ticksOfCall = 0;
  while (Atomics.load(numbers, signs.isOver) === 0) {
    Atomics.wait(numbers, signs.isOver, 0, tickMs);
    const now = { yields: Atomics.load(numbers, signs.yields), calls: Atomics.load(numbers, signs.calls) };
    const isInside = Atomics.load(numbers, signs.isInside) === 1;
    ticks = now.yields === seen.yields ? ticks + 1 : 0;
    ticksOfCall = ticks > 0 && isInside && now.calls === seen.calls ? ticksOfCall + 1 : 0;
    seen = now;
    if (ticksOfCall < ticksInCall && ticks < ticksOutside) continue;
    // A developer has stopped at a breakpoint.
    if (Atomics.load(numbers, signs.isDebugged) === 1) continue;
    const words = Buffer.from(text.subarray(0, Atomics.load(numbers, signs.textLength))).toString();
    const [feature, what] = words.split('\n');
    const time = new Date((wallMs[0] ?? 0) + ticks * tickMs).toISOString();
    const where = isInside ? { feature, what } : {};
    const msg = isInside
      ? 'code of a feature does not yield and blocks this replica: the replica ends itself'
      : 'something does not yield and blocks this replica: the replica ends itself';
    writeSync(
      2,
      `${JSON.stringify({ level: 'error', time, ...facts, ...where, seconds: (ticks * tickMs) / 1_000, msg })}\n`,
    );
    process.kill(process.pid, 'SIGKILL');
    return;
  }
}

export interface FeatureCare {
  readonly care: Care;
  stop(): Promise<void>;
}

/** Watches over the code of loaded features; without any there is no thread and no cost. */
export function startFeatureCare(features: readonly Feature[], log: Log, replica: string): FeatureCare {
  const isLoaded = features.some(({ edition }) => edition !== undefined);
  if (!isLoaded) return { care: noCare, stop: async () => {} };
  const marks = startStallWatch(systemClock, { replica });
  return { care: createCare({ clock: machineClock, log, marks }), stop: marks.stop };
}
