/**
 * One name is one process: a replica that hears its own name from a living stranger reports that and ends.
 * Until then the two do not take everything from each other forever.
 */
import type { ShardName } from '../../../src/base/ids.ts';
import type { CheckerKind } from './checker.ts';

/**
 * A twin is sure after hearing the other for a second; a broker's silence lasts no longer than the faults.
 */
const twinsEndMs = 30_000;
const spanMs = 10_000;
/**
 * The most writes of a shard's fence in ten seconds: it is given back and claimed once for every replica that
 * comes, goes, or pauses and returns.
 */
const handsMost = 20;
/** For who leaves and who comes in its place: each gives back what another claims. */
const handsForEachStart = 4;
const handsForEachStop = 2;

function handsFor(text: string): number {
  if (text.endsWith(' starts')) return handsForEachStart;
  return text.startsWith('stop: ') ? handsForEachStop : 0;
}

export const names: CheckerKind = {
  name: 'one name, one process',
  create({ now, replicas, breach }) {
    let calmAt: number | null = null;
    const written = new Map<ShardName, number[]>();
    let comings: ReadonlyArray<{ readonly at: number; readonly hands: number }> = [];
    return (sighting) => {
      if (sighting.kind === 'calm') calmAt = now();
      if (sighting.kind === 'done') {
        const hands = handsFor(sighting.text);
        if (hands > 0) comings = [...comings.filter(({ at }) => now() - at < spanMs), { at: now(), hands }];
      }
      if (sighting.kind === 'fence') {
        const times = (written.get(sighting.shard) ?? []).filter((at) => now() - at < spanMs);
        written.set(sighting.shard, [...times, now()]);
        const due = comings.reduce((sum, { at, hands }) => sum + (now() - at < spanMs ? hands : 0), 0);
        if (times.length >= Math.max(handsMost, due))
          breach(
            `the fence of shard ${sighting.shard} was written ${times.length + 1} times in ${spanMs / 1_000} s`,
          );
      }
      if (sighting.kind !== 'second' || calmAt === null || now() - calmAt < twinsEndMs) return;
      const living = replicas().map(({ name }) => name);
      const twice = living.find((name, index) => living.indexOf(name) !== index);
      if (twice !== undefined)
        breach(`two replicas are called ${twice}, long after they could hear each other`);
    };
  },
};
