/**
 * The world of elections: Elections with candidates over NATS, and programs with client-go's election on
 * clocks of their own that contend for the same Leases.
 */

import { createProcess } from '../../../packages/testing/replicas/process.ts';
import type { LinkState } from '../../../src/bus/memory/faults.ts';
import { elections as feature } from '../../../src/features/elections/feature.ts';
import { elections, leases } from '../../../src/features/elections/resources.ts';
import { startElections } from '../../../src/features/elections/start.ts';
import { apiPort } from '../api/api-port.ts';
import { idsOf } from '../checkers/lives-as-its-object.ts';
import type { ActingParts, FeatureSimulation, FeatureWorld, WorldParts } from '../features/feature-world.ts';
import { foreignHolder } from './checkers/foreign-holder.ts';
import { oneAtATime } from './checkers/one-at-a-time.ts';
import { oneLeaderPerTerm } from './checkers/one-leader-per-term.ts';
import { ClientGo } from './client-go.ts';
import { electionActions, madeUnusable, overwriteStatus } from './election-actions.ts';
import { electionStatus } from './election-status.ts';
import { type Belief, NatsCandidate } from './nats-candidate.ts';
import { unsettledElections } from './settled-elections.ts';

export const namespace = 'shop';

/** What the checkers know of the contenders. */
export interface ElectionPeople {
  readonly candidates: NatsCandidate[];
  readonly programs: ClientGo[];
  readonly beliefs: Belief[];
  onBelief: (belief: Belief) => void;
  /** When somebody last wrote over another's Lease, by election: the leader could not know. */
  readonly robbedAt: Map<string, number>;
}

/** The usual ones are the defaults, ours and client-go's; calm are those who would rather wait than move. */
export const paces = {
  quick: {
    timing: { leaseDurationSeconds: 4, renewDeadlineSeconds: 3, retryPeriodSeconds: 1 },
    ttlsMs: [900, 1_500, 3_000, 6_000],
  },
  usual: {
    timing: { leaseDurationSeconds: 15, renewDeadlineSeconds: 10, retryPeriodSeconds: 2 },
    ttlsMs: [6_000, 15_000, 15_000, 30_000],
  },
  calm: {
    timing: { leaseDurationSeconds: 60, renewDeadlineSeconds: 40, retryPeriodSeconds: 12 },
    ttlsMs: [30_000, 60_000],
  },
} as const;
type Pace = keyof typeof paces;
/** Of those that are not quick: calm ones say the same as usual ones with a fifth of the words. */
const calmShare = 0.7;
/** For Elections for which no program contends: a leader may have a long time. */
const longTiming = { leaseDurationSeconds: 40, renewDeadlineSeconds: 35, retryPeriodSeconds: 2 };
/** Leaves no time for a retry. */
export const unusable = { renewDeadlineSeconds: 1, retryPeriodSeconds: 3 };

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

/** Those who can campaign. */
export interface Contenders {
  startProgram(election: string, name: string): void;
  startCandidate(election: string, name: string, isPatient: boolean): void;
}

function createElections(parts: WorldParts): FeatureWorld {
  const { profile, chance } = parts;
  const slackMs = 2 * Math.min(profile.skewMaxMs, 100) + 20;
  const isCalm = profile.pace === 'usual' && chance.of('calm').happens(calmShare);
  const pace = isCalm ? 'calm' : profile.pace;
  return electionsOf(parts, (people) => contenders(parts, people, pace), { pace, slackMs });
}

interface Keeping {
  readonly pace: Pace;
  /** How much the clocks of replicas differ. */
  readonly slackMs: number;
  /** How much later than a replica we see what is written; default 0. */
  readonly seenMs?: number;
  /** The API refuses an Election that cannot be used, as the rules of its definition say. */
  readonly isAdmitted?: boolean;
}

export function electionsOf(
  parts: ActingParts,
  contend: (people: ElectionPeople) => Contenders,
  keeping: Keeping,
): FeatureWorld {
  const { stage, chance, say } = parts;
  const { api } = stage;
  const people: ElectionPeople = {
    candidates: [],
    programs: [],
    beliefs: [],
    onBelief: () => {},
    robbedAt: new Map(),
  };
  const names = Array.from({ length: chance.int(1, 2) }, (_, n) => `worker-${n}`);
  const use = { feature: feature(), start: startElections({ leaseNamespaces: {} }) };
  const long = new Set(names.filter(() => chance.happens(0.3)));
  const isLong = (name: string) => long.has(name) && keeping.pace !== 'calm';
  const timingOf = (name: string) => (isLong(name) ? longTiming : paces[keeping.pace].timing);
  const makeElection = (name: string) => {
    const releaseOnCancel = chance.happens(0.8);
    api.create(elections, { metadata: { namespace, name }, spec: { ...timingOf(name), releaseOnCancel } });
  };
  const { startProgram, startCandidate } = contend(people);
  const living = () => people.programs.filter(({ process }) => process.state !== 'dead');
  const actions = electionActions(parts, { people, living, makeElection, startProgram, names }).filter(
    ([name]) => !(keeping.isAdmitted && name === madeUnusable),
  );
  return {
    uses: () => [use],
    checkers: checkersOf(parts, people, keeping),
    ...{ statuses: [electionStatus], lives: livesIn(stage) },
    begin() {
      for (const election of names) {
        makeElection(election);
        const isMixed = !long.has(election) && chance.happens(0.6);
        for (let n = 0; n < chance.int(1, 3); n++)
          startCandidate(election, `${election}-c${n}`, isLong(election));
        for (let n = 0; isMixed && n < chance.int(1, 2); n++) startProgram(election, `${election}-g${n}`);
      }
    },
    act() {
      const action = chance.pick(actions);
      const what = action?.[1]();
      if (what) say(`${action?.[0]}: ${what}`);
    },
    restored: () => robAll(people, names, stage.clock.now()),
    heal() {
      resumeAll(people);
      for (const name of names) {
        if (api.find(elections, namespace, name) === null) makeElection(name);
        // The last edit may be an unusable one: then nobody leads, and the status says why.
        const spec = chance.happens(0.2) && !keeping.isAdmitted ? unusable : timingOf(name);
        api.patch(elections, { namespace, name, type: 'merge', body: { spec } });
        if (chance.happens(0.5)) meddleLate(stage, name);
      }
    },
    unsettled: (records) => unsettledElections(stage, people, names, records),
  };
}

/** No leader could know that its Lease went back. */
function robAll({ robbedAt }: ElectionPeople, names: readonly string[], now: number): void {
  for (const name of names) robbedAt.set(`${namespace}/${name}`, now);
}

/** Once everybody is at rest, no other news puts it right. */
function meddleLate({ api, clock }: ActingParts['stage'], name: string): void {
  clock.after(5_000, () => overwriteStatus(api, name));
}

function resumeAll({ programs, candidates }: ElectionPeople): void {
  for (const { process } of programs) process.resume();
  for (const candidate of candidates) {
    candidate.setLink('up');
    candidate.resume();
  }
}

function checkersOf({ stage }: ActingParts, people: ElectionPeople, { pace, slackMs, seenMs = 0 }: Keeping) {
  // An Election may have the long times, and those that were edited last.
  const all = [paces[pace].timing, longTiming].map((one) => one.renewDeadlineSeconds * 1_000);
  const renewDeadlineMs = Math.max(...all);
  return [
    oneLeaderPerTerm(people),
    oneAtATime(people, { slackMs, renewDeadlineMs }),
    foreignHolder(stage, people, seenMs),
  ];
}

/** Those who campaign: over NATS, and by client-go's rules. */
function contenders({ stage, chance }: WorldParts, people: ElectionPeople, pace: Pace): Contenders {
  const { api, clock, hub, subjects } = stage;
  const { timing, ttlsMs } = paces[pace];
  const onBelief = (belief: Belief) => people.onBelief(belief);
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
  const startCandidate = (election: string, name: string, isPatient: boolean) => {
    const ttlMs = chance.pick(isPatient ? [3_000, 30_000] : ttlsMs) ?? 3_000;
    const bus = hub.connect(name);
    const setLink = (state: LinkState) => bus.faults.setLink(state);
    const by = { clock, subjects, bus, setLink };
    people.candidates.push(new NatsCandidate({ ...by, namespace, election, name, ttlMs, onBelief }));
  };
  return { startProgram, startCandidate };
}

const livesIn = ({ api }: ActingParts['stage']) => [
  { kind: 'election', objects: () => idsOf('election', api.all(elections)) },
];
