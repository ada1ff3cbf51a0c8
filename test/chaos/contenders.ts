/**
 * Those who campaign in a run: the simulation's own candidates over NATS and programs by client-go's rules,
 * each with a connection that can be cut, in real time.
 */
import { createProcess, type SimProcess } from '../../packages/testing/replicas/process.ts';
import type { Chance } from '../../packages/testing/time/chance.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import type { KubePort } from '../../src/base/kube-port.ts';
import { systemRandom as random } from '../../src/base/random.ts';
import type { Bus } from '../../src/bus/bus.ts';
import { connectNats } from '../../src/bus/nats/nats.ts';
import type { Subjects } from '../../src/bus/subjects.ts';
import { ClientGo } from '../sim/elections/client-go.ts';
import { type Contenders, type ElectionPeople, namespace, paces } from '../sim/elections/election-world.ts';
import { type Belief, NatsCandidate } from '../sim/elections/nats-candidate.ts';
import { type Link, openLink } from './link.ts';

export interface Lines {
  /** Connections to NATS, one for each candidate. */
  take(): Line;
  stop(): Promise<void>;
}

interface Line {
  readonly bus: Bus;
  readonly links: readonly Link[];
}

/** Opens connections before the world begins, which does not wait. */
export async function openLines(
  count: number,
  natsPorts: ReadonlyArray<() => number>,
  cluster: string,
): Promise<Lines> {
  const lines = await Promise.all(
    Array.from({ length: count }, async (_, n): Promise<Line> => {
      const links = await Promise.all(natsPorts.map((port) => openLink(port)));
      const servers = links.map(({ port }) => `nats://127.0.0.1:${port}`);
      return {
        links,
        bus: await connectNats({ servers, name: `candidate ${n}`, cluster, clock: systemClock, random }),
      };
    }),
  );
  let taken = 0;
  return {
    take() {
      const line = lines[taken++];
      if (line === undefined) throw new Error('there are more candidates than lines');
      return line;
    },
    async stop() {
      await Promise.all(lines.map(({ bus }) => bus.close()));
      await Promise.all(lines.flatMap(({ links }) => links.map((link) => link.close())));
    },
  };
}

export function contenders(
  parts: {
    readonly clock: Clock;
    readonly lines: Lines;
    readonly kube: KubePort;
    readonly subjects: Subjects;
    readonly chance: Chance;
  },
  people: ElectionPeople,
): Contenders {
  const { clock, lines, subjects, chance } = parts;
  const onBelief = (belief: Belief) => people.onBelief(belief);
  let incarnations = 0;
  return {
    startCandidate(election, name, isPatient) {
      const ttlMs = chance.pick(isPatient ? [3_000, 30_000] : [3_000, 4_500, 6_000]) ?? 3_000;
      const { bus, links } = lines.take();
      const setLink: NatsCandidate['setLink'] = (state) => {
        for (const link of links) link.set(state);
      };
      const by = { clock, subjects, bus, setLink };
      people.candidates.push(new NatsCandidate({ ...by, namespace, election, name, ttlMs, onBelief }));
    },
    startProgram(election, name) {
      const skewMs = chance.between(-60_000, 60_000);
      const process = createProcess(clock, { skewMs, sleepsWhilePaused: false });
      const program = new ClientGo({
        ...{ process, onBelief, now: () => clock.now(), kube: gated(parts.kube, process) },
        chance: chance.of(`${name} ${++incarnations}`),
        place: { namespace, name: election },
        name: `${name}_${incarnations}`,
        leaseSeconds: paces.quick.timing.leaseDurationSeconds,
        renewDeadlineMs: paces.quick.timing.renewDeadlineSeconds * 1_000,
        retryMs: paces.quick.timing.retryPeriodSeconds * 1_000,
        releaseOnCancel: chance.happens(0.5),
      });
      people.programs.push(program);
    },
  };
}

/** As a process sees it that is paused from time to time. */
function gated(kube: KubePort, process: SimProcess): KubePort {
  return {
    ...kube,
    get: (...asked) => process.gate(kube.get(...asked)),
    create: (...asked) => process.gate(kube.create(...asked)),
    replace: (...asked) => process.gate(kube.replace(...asked)),
  };
}
