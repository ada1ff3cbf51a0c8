/**
 * What a cluster holds while it runs: heap and sockets of each replica, and the bytes of each stream. Says of
 * each whether it stayed flat.
 *
 * A process is measured from a minute after its start on; one that was started meanwhile begins anew. The
 * least heap of a span of time counts, because garbage comes and goes; the first third is for warming up.
 * The feed grows for a day by design.
 */
import { readdirSync, readlinkSync } from 'node:fs';
import { systemClock as clock } from '../../src/base/clock.ts';
import type { Bus, StreamName } from '../../src/bus/bus.ts';
import { streamDefinitions } from '../../src/bus/streams.ts';
import type { Crew, Member } from './replica-crew.ts';
import { jetStream } from './witness.ts';

export interface Growth {
  /** A line for each thing that was measured often enough. */
  summary(): readonly string[];
}

interface Series {
  readonly values: number[];
  readonly unit: 'MB' | '';
}

const everyMs = 10_000;
const warmUpMs = 60_000;
const leastValues = 12;
/** Beyond that share, and that much, it has grown. */
const grownShare = 0.1;
const grownLeast = { MB: 8, '': 5 } as const;
const megabyte = 1_000_000;
const measured: readonly StreamName[] = ['state', 'mail', 'world', 'dead'];

export function watchGrowth({
  crew,
  bus,
  cluster,
  onStop,
}: {
  readonly crew: Crew;
  readonly bus: Bus;
  readonly cluster: string;
  readonly onStop: (stop: () => void) => void;
}): Growth {
  const all = new Map<string, Series>();
  const bornAt = new Map<Member, number>();
  const definitions = streamDefinitions(cluster);
  const note = (what: string, unit: Series['unit'], value: number) => {
    const series = all.get(what) ?? { values: [], unit };
    all.set(what, series);
    series.values.push(value);
  };
  const noteMember = async (member: Member) => {
    const born = bornAt.get(member) ?? clock.monotonic();
    bornAt.set(member, born);
    const pid = member.process.pid();
    if (clock.monotonic() - born < warmUpMs || pid === undefined || member.state !== 'running') return;
    const name = `${member.name} (${pid})`;
    note(`sockets of ${name}`, '', socketsOf(pid));
    note(`heap of ${name}`, 'MB', (await heapOf(member.http)) / megabyte);
  };
  const look = async () => {
    for (const member of crew.members) await noteMember(member).catch(() => {});
    for (const stream of measured) {
      const info = await jetStream<{ state: { bytes: number } }>(
        bus,
        `STREAM.INFO.${definitions[stream].name}`,
      ).catch(() => null);
      if (info !== null) note(`stream ${stream}`, 'MB', info.state.bytes / megabyte);
    }
  };
  let isOver = false;
  const again = () => {
    if (isOver) return;
    timer = clock.after(everyMs, again);
    void look();
  };
  let timer = clock.after(everyMs, again);
  onStop(() => {
    isOver = true;
    timer.cancel();
  });
  return { summary: () => [...all].flatMap(([what, series]) => growthLine(what, series) ?? []) };
}

/** null: too few values to say. */
export function growthLine(what: string, { values, unit }: Series): string | null {
  if (values.length < leastValues) return null;
  const third = Math.floor(values.length / 3);
  const [middle, last] = [Math.min(...values.slice(third, 2 * third)), Math.min(...values.slice(-third))];
  const hasGrown = last - middle > Math.max(middle * grownShare, grownLeast[unit]);
  const shown = (value: number) => (unit === '' ? `${value}` : `${value.toFixed(1)} ${unit}`);
  return `${what}: ${shown(middle)} in the second third, ${shown(last)} in the last: ${hasGrown ? 'grown' : 'flat'}`;
}

function socketsOf(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((fd) => {
    try {
      return readlinkSync(`${folder}/${fd}`).startsWith('socket:');
    } catch {
      return false;
    }
  }).length;
}

async function heapOf(http: string): Promise<number> {
  const response = await fetch(`${http}/metrics`, { signal: AbortSignal.timeout(2_000) });
  const found = /^nodejs_heap_size_used_bytes (\S+)/m.exec(await response.text());
  if (found === null) throw new Error('the metrics say nothing of the heap');
  return Number(found[1]);
}
