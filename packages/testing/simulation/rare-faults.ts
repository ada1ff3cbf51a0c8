/**
 * What seldom happens to a cluster and must be survived: nobody there for hours, a store that is full or
 * created anew, clocks that are set, messages that nobody meant, an etcd restored to an earlier state, and
 * several processes with one replica's name.
 */
import { limits } from '../../../src/base/limits.ts';
import { encodeJson } from '../../../src/bus/codec.ts';
import type { FaultParts, ForAWhile } from './fault-parts.ts';
import { createForger } from './forgeries.ts';

const hourMs = 3_600_000;
/** Nothing that a replica has sent takes longer to arrive, ms. */
const arrivedMs = 2 * limits.appendTimeoutMs + 1_000;

/** @param isOver whether the faults have ended */
export function rareFaults(parts: FaultParts, forAWhile: ForAWhile, isOver: () => boolean) {
  return {
    ...absences(parts, forAWhile, isOver),
    ...storeFaults(parts, forAWhile),
    ...mistakes(parts, forAWhile),
  };
}

function absences(
  { chance, replicas, start, world }: FaultParts,
  forAWhile: ForAWhile,
  isOver: () => boolean,
) {
  return {
    /** Nobody runs for hours, and then all come back one after another. */
    away() {
      if (world.mirror.isAway) return null;
      const names = new Set<string>();
      const killAll = (isSent: () => boolean) => {
        for (const replica of replicas()) {
          names.add(replica.name);
          replica.kill(isSent());
        }
      };
      /** What somebody sends who was started meanwhile, by another fault, arrives as well. */
      const whenAllHasArrived = (then: () => void) =>
        forAWhile(arrivedMs, () => {
          if (isOver() || replicas().length === 0) return then();
          killAll(() => false);
          whenAllHasArrived(then);
        });
      killAll(() => chance.happens(0.5));
      world.mirror.leave();
      const ms = chance.between(0.1, 6) * hourMs;
      whenAllHasArrived(() => {
        if (!isOver()) world.clock.leap(ms);
        for (const name of names) forAWhile(chance.seldomLong(0, 5_000), () => start(name));
        forAWhile(chance.seldomLong(0, 8_000), () => world.mirror.takeOver());
      });
      return `for ${(ms / hourMs).toFixed(1)} hours`;
    },
    /** Somebody sets the clock of a machine, and corrects it after a while. */
    clockSet() {
      const replica = chance.pick(replicas().filter(({ isRunning }) => isRunning));
      if (!replica) return null;
      const ms = Math.round(chance.between(-1, 1) * hourMs);
      replica.process.setClock(ms);
      forAWhile(chance.seldomLong(500, 15_000), () => replica.process.setClock(-ms));
      return `${replica.name} by ${Math.round(ms / 1_000)} s`;
    },
  };
}

function storeFaults({ chance, replicas, world }: FaultParts, forAWhile: ForAWhile) {
  return {
    /** Nobody can store anything any more. */
    storeFull() {
      const ms = chance.seldomLong(500, 12_000);
      const fate = () => 'full' as const;
      const affected = replicas();
      const mirror = world.mirror.bus;
      for (const replica of affected) replica.appendFate = fate;
      mirror.faults.onAppend = fate;
      forAWhile(ms, () => {
        mirror.faults.onAppend = undefined;
        for (const replica of affected) if (replica.appendFate === fate) replica.appendFate = undefined;
      });
      return `for ${Math.round(ms)} ms`;
    },
    /** The mail's stream is lost with its disk and created anew; everybody finds out on reconnecting. */
    mailAnew() {
      const affected = replicas();
      for (const replica of affected) replica.setLink('down');
      world.hub.makeAnew('mail');
      world.see({ kind: 'lost', stream: 'mail' });
      const ms = chance.seldomLong(50, 3_000);
      forAWhile(ms, () => {
        for (const replica of affected) replica.setLink('up');
      });
      return `and nobody is connected for ${Math.round(ms)} ms`;
    },
  };
}

function mistakes({ chance, world, replicas, start }: FaultParts, forAWhile: ForAWhile) {
  const reflector = world.hub.connect('reflector');
  const forge = createForger(world, chance);
  return {
    /** Somebody repeats what actors say to one another, or uses the ids of their next messages. */
    forged: forge,
    /** Somebody starts one or two more replicas with a name that is taken. */
    twin() {
      const replica = chance.pick(replicas());
      if (!replica) return null;
      const more = chance.pick([1, 1, 2]) ?? 1;
      for (let n = 0; n < more; n++) start(replica.name);
      return `${more} more of the name ${replica.name}`;
    },
    /**
     * An acknowledgement is stored where only replicas write, because somebody named that place for the
     * answer.
     */
    reflected() {
      const shard = chance.int(0, world.shards - 1);
      const { fence, checkpoint } = world.subjects;
      const subject = chance.happens(0.5) ? fence(shard) : checkpoint(shard);
      const acknowledgement = encodeJson({ stream: 'ORRERY_sim_STATE', seq: chance.int(1, 1_000) });
      reflector.append(subject, acknowledgement).catch(() => {});
      return subject;
    },
    /** etcd is restored to its state of some seconds ago: objects and versions go back. */
    etcdRestored() {
      const put = world.kube.backup();
      const ms = chance.seldomLong(300, 8_000);
      forAWhile(ms, put);
      return `to what it is now, in ${Math.round(ms)} ms`;
    },
  };
}
