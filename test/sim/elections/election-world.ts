/**
 * The world of elections: Elections with candidates over NATS, and programs with client-go's election on
 * clocks of their own that contend for the same Leases.
 */
import { kubeMicroTime } from '../../../src/base/kube-time.ts';
import { elections as feature } from '../../../src/features/elections/feature.ts';
import { leaseRecordOf } from '../../../src/features/elections/lease.ts';
import { elections, leases } from '../../../src/features/elections/resources.ts';
import { startElections } from '../../../src/features/elections/start.ts';
import { apiPort } from '../api/api-port.ts';
import type { FeatureSimulation, FeatureWorld, WorldParts } from '../features/feature-world.ts';
import { createProcess } from '../process.ts';
import { foreignHolder } from './checkers/foreign-holder.ts';
import { oneAtATime } from './checkers/one-at-a-time.ts';
import { oneLeaderPerTerm } from './checkers/one-leader-per-term.ts';
import { ClientGo } from './client-go.ts';
import { type Belief, NatsCandidate } from './nats-candidate.ts';
import { unsettledElections } from './settled-elections.ts';

export const namespace = 'shop';

/** What the checkers know of the contenders. */
export interface ElectionPeople {
  readonly candidates: NatsCandidate[];
  readonly programs: ClientGo[];
  readonly beliefs: Belief[];
  onBelief: (belief: Belief) => void;
  /** When somebody last wrote over a Lease that was not his, by election: who led could not know. */
  readonly robbedAt: Map<string, number>;
}

const timing = { leaseDurationSeconds: 4, renewDeadlineSeconds: 3, retryPeriodSeconds: 1 };

export const electionSimulation: FeatureSimulation = {
  name: 'elections',
  kinds: [elections, leases],
  // Deadlines in a record are wall times: the clocks of replicas must be right (docs/features/elections.md,
  // Limits).
  without: ['clockSet', 'away'],
  standing: ['lease.follow'],
  restMs: 120_000,
  skewMaxMs: 100,
  create: createElections,
};

function createElections(parts: WorldParts): FeatureWorld {
  const { stage, chance, say } = parts;
  const { api, clock } = stage;
  const people: ElectionPeople = {
    candidates: [],
    programs: [],
    beliefs: [],
    onBelief: () => {},
    robbedAt: new Map(),
  };
  const onBelief = (belief: Belief) => people.onBelief(belief);
  const names = Array.from({ length: chance.int(1, 2) }, (_, n) => `worker-${n}`);
  const use = { feature: feature(), start: startElections({ leaseNamespaces: {} }) };
  const makeElection = (name: string) => {
    const releaseOnCancel = chance.happens(0.8);
    api.create(elections, { metadata: { namespace, name }, spec: { ...timing, releaseOnCancel } });
  };
  let incarnations = 0;
  const startProgram = (election: string, name: string) => {
    const process = createProcess(clock, {
      skewMs: chance.between(-60_000, 60_000),
      sleepsWhilePaused: false,
    });
    const kube = apiPort({ api, clock, process, weather: stage.weather, by: name });
    const program = new ClientGo({
      ...{ process, kube, onBelief, now: () => clock.now() },
      chance: chance.of(`${name} ${++incarnations}`),
      place: { namespace, name: election },
      name: `${name}_${incarnations}`,
      leaseSeconds: timing.leaseDurationSeconds,
      renewDeadlineMs: timing.renewDeadlineSeconds * 1_000,
      retryMs: timing.retryPeriodSeconds * 1_000,
      releaseOnCancel: chance.happens(0.5),
    });
    people.programs.push(program);
  };
  const startCandidate = (election: string, name: string) => {
    const ttlMs = chance.pick([900, 1_500, 3_000, 6_000]) ?? 3_000;
    people.candidates.push(new NatsCandidate({ stage, namespace, election, name, ttlMs, onBelief }));
  };
  const living = () => people.programs.filter(({ process }) => process.state !== 'dead');
  const actions = electionActions(parts, { people, living, makeElection, startProgram, names });
  return {
    uses: () => [use],
    checkers: [
      oneLeaderPerTerm(people),
      oneAtATime(people, 2 * Math.min(parts.profile.skewMaxMs, 100) + 20),
      foreignHolder(stage, people),
    ],
    begin() {
      for (const election of names) {
        makeElection(election);
        const isMixed = chance.happens(0.6);
        for (let n = 0; n < chance.int(1, 3); n++) startCandidate(election, `${election}-c${n}`);
        for (let n = 0; isMixed && n < chance.int(1, 2); n++) startProgram(election, `${election}-g${n}`);
      }
    },
    act() {
      const action = chance.pick(actions);
      const what = action?.[1]();
      if (what) say(`${action?.[0]}: ${what}`);
    },
    heal() {
      for (const { process } of people.programs) process.resume();
      for (const candidate of people.candidates) {
        candidate.bus.faults.setLink('up');
        candidate.resume();
      }
      for (const name of names) if (api.find(elections, namespace, name) === null) makeElection(name);
    },
    unsettled: (records) => unsettledElections(stage, people, names, records),
  };
}

interface Actors {
  readonly people: ElectionPeople;
  readonly names: readonly string[];
  living(): readonly ClientGo[];
  makeElection(name: string): void;
  startProgram(election: string, name: string): void;
}

type Action = readonly [name: string, act: () => string | null];

function electionActions(parts: WorldParts, actors: Actors): readonly Action[] {
  const { chance } = parts;
  const all = [
    ...candidateActions(parts, actors),
    ...programActions(parts, actors),
    ...leaseActions(parts, actors),
  ];
  // Where both the Election and its Lease are deleted, nothing says any more what the term was (§4.3).
  const not = chance.happens(0.5) ? 'lease deleted' : 'election made anew';
  return all.filter(([name]) => name !== not && chance.happens(0.6));
}

function candidateActions({ chance, stage }: WorldParts, { people }: Actors): readonly Action[] {
  const any = () => chance.pick(people.candidates);
  const { clock } = stage;
  return [
    [
      'silent',
      () => {
        const candidate = any();
        if (!candidate?.isCampaigning) return null;
        candidate.stop();
        clock.after(chance.seldomLong(100, 12_000), () => candidate.resume());
        return candidate.name;
      },
    ],
    [
      'resigns',
      () => {
        const candidate = chance.pick(people.candidates.filter(({ isLeading }) => isLeading));
        if (!candidate) return null;
        candidate.resign();
        clock.after(chance.seldomLong(100, 6_000), () => candidate.resume());
        return candidate.name;
      },
    ],
    [
      'unheard',
      () => {
        const candidate = any();
        if (!candidate) return null;
        candidate.bus.faults.setLink(chance.happens(0.5) ? 'down' : 'silent');
        clock.after(chance.seldomLong(100, 8_000), () => candidate.bus.faults.setLink('up'));
        return candidate.name;
      },
    ],
  ];
}

function programActions({ chance, stage }: WorldParts, { living, startProgram }: Actors): readonly Action[] {
  const { clock } = stage;
  const again = (name: string) => {
    const [, election = '', base = ''] = /^(.*)-(g\d+)_/.exec(name) ?? [];
    clock.after(chance.seldomLong(100, 6_000), () => startProgram(election, `${election}-${base}`));
  };
  return [
    [
      'program killed',
      () => {
        const program = chance.pick(living());
        if (!program) return null;
        program.process.die();
        again(program.name);
        return program.name;
      },
    ],
    [
      'program ends',
      () => {
        const program = chance.pick(living());
        if (!program) return null;
        program.end();
        again(program.name);
        return program.name;
      },
    ],
    [
      'program paused',
      () => {
        const program = chance.pick(living().filter(({ process }) => process.state === 'running'));
        if (!program) return null;
        program.process.pause();
        clock.after(chance.seldomLong(100, 10_000), () => program.process.resume());
        return program.name;
      },
    ],
  ];
}

function leaseActions(
  { chance, stage }: WorldParts,
  { names, makeElection, people }: Actors,
): readonly Action[] {
  const { api, clock } = stage;
  const rob = (name: string) => void people.robbedAt.set(`${namespace}/${name}`, clock.now());
  const any = () => chance.pick(names) ?? '';
  const change = (name: string, change: object) => {
    const lease = api.find(leases, namespace, name);
    if (lease === null) return null;
    rob(name);
    api.replace(leases, { ...lease, spec: { ...(lease.spec as object), ...change } });
    return name;
  };
  return [
    [
      'lease deleted',
      () => {
        const name = any();
        if (api.find(leases, namespace, name) === null) return null;
        rob(name);
        api.remove(leases, namespace, name);
        return name;
      },
    ],
    ['lease cleared', () => change(any(), { holderIdentity: '' })],
    [
      'lease seized',
      () => {
        const name = any();
        const lease = api.find(leases, namespace, name);
        if (lease === null) return null;
        const time = kubeMicroTime(clock.now());
        const leaseTransitions = leaseRecordOf(lease).transitions + 1;
        const times = { acquireTime: time, renewTime: time, leaseTransitions };
        return change(name, {
          holderIdentity: `seizer-${chance.int(0, 99)}`,
          leaseDurationSeconds: 2,
          ...times,
        });
      },
    ],
    [
      'election made anew',
      () => {
        const name = any();
        if (api.find(elections, namespace, name) === null) return null;
        api.remove(elections, namespace, name);
        clock.after(chance.seldomLong(10, 5_000), () => {
          if (api.find(elections, namespace, name) === null) makeElection(name);
        });
        return name;
      },
    ],
    [
      'election edited',
      () => {
        const name = any();
        if (api.find(elections, namespace, name) === null) return null;
        const spec = { releaseOnCancel: chance.happens(0.5) };
        api.patch(elections, { namespace, name, type: 'merge', body: { spec } });
        return name;
      },
    ],
  ];
}
