/** The faults of the replicas and of the broker between them. */

import { limits } from '../../../src/base/limits.ts';
import type { AppendFate, CoreFate } from '../../../src/bus/memory/faults.ts';
import type { SimReplica } from '../replicas/sim-replica.ts';
import type { FaultKind } from './fault-kinds.ts';
import type { FaultParts, ForAWhile } from './fault-parts.ts';
import { rareFaults } from './rare-faults.ts';

export interface Faults {
  act(): void;
  /** Sometimes: the replica that has just stored a step dies or pauses before it hears of that. */
  ambush(name: string): void;
  /** Ends every fault; from now on nothing fails. */
  end(): void;
}

/** The share of stored steps that end in an ambush: about two in each simulation that has any. */
const ambushShare = 0.02;

export function createFaults(parts: FaultParts): Faults {
  const { world, chance, profile, replicas, say } = parts;
  /** Take back what was done, whether or not its time is over; each once. */
  const undos = new Set<() => void>();
  let isOver = false;
  const forAWhile = (ms: number, undo: () => void) => {
    undos.add(undo);
    world.clock.after(ms, () => {
      if (undos.delete(undo)) undo();
    });
  };
  const faults = {
    ...processFaults(parts, forAWhile, () => isOver),
    ...linkFaults(parts, forAWhile),
    ...messageFaults(parts, forAWhile),
    ...rareFaults(parts, forAWhile, () => isOver),
  } satisfies Record<FaultKind, () => string | null>;
  const kinds = [...profile.faults];
  const ambushes = (['kill', 'pause'] as const).filter((kind) => profile.faults.has(kind));
  return {
    ambush(name) {
      const replica = replicas().find((one) => one.name === name && one.isRunning);
      if (isOver || !replica || !chance.happens(ambushShare)) return;
      const kind = chance.pick(ambushes);
      const what = kind && faults[kind](replica);
      if (what) say(`${kind} at a save: ${what}`);
    },
    act() {
      const kind = chance.pick(kinds);
      const what = kind && faults[kind]();
      if (what) say(`${kind}: ${what}`);
    },
    end() {
      isOver = true;
      for (const undo of undos) {
        undos.delete(undo);
        undo();
      }
      for (const replica of replicas()) replica.process.resume();
    },
  };
}

function processFaults(
  { chance, replicas, start, world }: FaultParts,
  forAWhile: ForAWhile,
  isOver: () => boolean,
) {
  const any = () => chance.pick(replicas().filter(({ isRunning }) => isRunning));
  const restart = (name: string) => {
    if (isOver()) start(name);
    else forAWhile(chance.seldomLong(0, 8_000), () => start(name));
  };
  return {
    kill(replica = any()) {
      if (!replica) return null;
      replica.kill(chance.happens(0.5));
      restart(replica.name);
      return replica.name;
    },
    stop() {
      const replica = any();
      if (!replica) return null;
      replica.stop().then(
        () => restart(replica.name),
        () => restart(replica.name),
      );
      return replica.name;
    },
    pause(replica = any()) {
      if (!replica) return null;
      const ms = chance.seldomLong(50, 20_000);
      const isCut = chance.happens(0.6);
      replica.process.pause();
      if (isCut) replica.setLink('silent');
      forAWhile(ms, () => {
        if (isCut) replica.setLink('up');
        replica.process.resume();
      });
      return `${replica.name} for ${Math.round(ms)} ms${isCut ? ', its link silent' : ''}, ${world.clock.monotonic()}`;
    },
  };
}

function linkFaults({ chance, replicas, world }: FaultParts, forAWhile: ForAWhile) {
  const cut = (state: 'down' | 'silent') => () => {
    const replica = chance.pick(replicas().filter(({ process }) => process.state !== 'dead'));
    if (!replica) return null;
    const ms = chance.seldomLong(50, 12_000);
    replica.setLink(state);
    forAWhile(ms, () => replica.setLink('up'));
    return `${replica.name} for ${Math.round(ms)} ms`;
  };
  return {
    cut: cut('down'),
    silence: cut('silent'),
    brokerAway() {
      const ms = chance.seldomLong(200, 15_000);
      const state = chance.happens(0.5) ? 'down' : 'silent';
      const affected = replicas().filter(({ process }) => process.state !== 'dead');
      for (const replica of affected) replica.setLink(state);
      world.mirror.bus.faults.setLink(state);
      const { bus } = world.mirror;
      forAWhile(ms, () => {
        for (const replica of affected) replica.setLink('up');
        bus.faults.setLink('up');
      });
      return `${state} for ${Math.round(ms)} ms`;
    },
    mirror() {
      if (world.mirror.isAway) return null;
      world.mirror.takeOver();
      return 'another one takes over';
    },
  };
}

function appendFates(
  { chance, world }: Pick<FaultParts, 'chance' | 'world'>,
  forAWhile: ForAWhile,
): ReadonlyArray<(replica: SimReplica) => AppendFate> {
  const late = () => ({ lateMs: chance.seldomLong(1, 2 * limits.appendTimeoutMs) });
  /** The connection breaks with the write in transit: its sender gives up at once, and is soon back. */
  const lateAndCut = (replica: SimReplica) => {
    world.clock.after(1, () => replica.setLink('down'));
    forAWhile(chance.between(2, 200), () => replica.setLink('up'));
    return late();
  };
  return [() => 'answerLost', () => 'requestLost', () => 'refuse', late, lateAndCut];
}

function messageFaults({ chance, replicas, world }: FaultParts, forAWhile: ForAWhile) {
  const fates = appendFates({ chance, world }, forAWhile);
  const coreFates: readonly (() => CoreFate)[] = [
    () => 'lose',
    () => 'duplicate',
    () => ({ delayMs: chance.seldomLong(1, 3_000) }),
  ];
  return {
    /** For a while, some appends of one replica fail, in one way or in all. */
    appends() {
      const replica = chance.pick(replicas().filter(({ process }) => process.state !== 'dead'));
      const stream = chance.pick(['.state.', '.tell.', '.event.', '.fence.', '.'] as const);
      if (!replica || !stream) return null;
      const ms = chance.seldomLong(100, 10_000);
      const share = chance.pick([0.05, 0.3, 1]) ?? 0;
      const chosen = chance.pick(fates);
      const fateOf = () => (chance.happens(0.5) ? chosen : chance.pick(fates))?.(replica) ?? 'store';
      const fate = (subject: string) =>
        subject.includes(stream) && chance.happens(share) ? fateOf() : 'store';
      replica.appendFate = fate;
      forAWhile(ms, () => {
        if (replica.appendFate === fate) replica.appendFate = undefined;
      });
      return `${replica.name} ${stream} ${share} for ${Math.round(ms)} ms`;
    },
    /** One replica, or all of them, hear heartbeats badly. */
    core() {
      const found = chance.pick(replicas().filter(({ process }) => process.state !== 'dead'));
      if (!found) return null;
      const deaf = chance.happens(0.5) ? [found] : replicas();
      const ms = chance.seldomLong(500, 10_000);
      const share = chance.between(0.1, 1);
      const fate = () => (chance.happens(share) ? (chance.pick(coreFates)?.() ?? 'deliver') : 'deliver');
      for (const { link } of deaf) link.faults.onReceive = fate;
      forAWhile(ms, () => {
        for (const { link } of deaf) link.faults.onReceive = undefined;
      });
      return `${deaf.map(({ name }) => name).join(', ')} for ${Math.round(ms)} ms`;
    },
    kubeErrors() {
      const ms = chance.seldomLong(500, 15_000);
      const share = chance.pick([0.2, 0.6, 1]) ?? 0;
      world.kubeErrors = share;
      forAWhile(ms, () => {
        world.kubeErrors = 0;
      });
      return `${share} for ${Math.round(ms)} ms`;
    },
  };
}
