/** What happens in the world of elections: to candidates, to programs, to Leases and Elections. */
import type { KubeObject } from '../../../src/base/kube-port.ts';
import { kubeMicroTime } from '../../../src/base/kube-time.ts';
import { leaseRecordOf } from '../../../src/features/elections/lease.ts';
import { elections, leases } from '../../../src/features/elections/resources.ts';
import type { ActingParts } from '../features/feature-world.ts';
import type { ClientGo } from './client-go.ts';
import { type ElectionPeople, namespace, unusable } from './election-world.ts';

export interface Actors {
  readonly people: ElectionPeople;
  readonly names: readonly string[];
  living(): readonly ClientGo[];
  makeElection(name: string): void;
  startProgram(election: string, name: string): void;
}

export const madeUnusable = 'election made unusable';

type Action = readonly [name: string, act: () => string | null];

export function electionActions(parts: ActingParts, actors: Actors): readonly Action[] {
  const { chance } = parts;
  const all = [
    ...candidateActions(parts, actors),
    ...programActions(parts, actors),
    ...leaseActions(parts, actors),
    ...electionChanges(parts, actors),
    ...movesOf(parts, actors),
    ...meddling(parts),
  ];
  // An Election that is deleted takes its knowledge along, and its Lease has to say what the term was (§4.3).
  const not = chance.happens(0.5) ? ['lease deleted', 'election moved'] : ['election made anew'];
  return all.filter(([name]) => !not.includes(name) && chance.happens(0.6));
}

function meddling({ stage, chance }: ActingParts): readonly Action[] {
  const { api } = stage;
  return [
    [
      'status overwritten',
      () => {
        const found = chance.pick(api.all(elections));
        if (!found) return null;
        overwriteStatus(api, found.metadata.name);
        return found.metadata.name;
      },
    ],
  ];
}

/** As a former owner's request does that is served late, or somebody by hand. */
export function overwriteStatus(api: ActingParts['stage']['api'], name: string): void {
  const body = { status: { holder: 'somebody', term: 1 } };
  if (api.find(elections, namespace, name) !== null)
    api.patch(elections, { namespace, name, type: 'merge', body, subresource: 'status' });
}

function candidateActions({ chance, stage }: ActingParts, { people }: Actors): readonly Action[] {
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
        candidate.setLink(chance.happens(0.5) ? 'down' : 'silent');
        clock.after(chance.seldomLong(100, 8_000), () => candidate.setLink('up'));
        return candidate.name;
      },
    ],
  ];
}

function programActions({ chance, stage }: ActingParts, { living, startProgram }: Actors): readonly Action[] {
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

function leaseActions({ chance, stage }: ActingParts, { names, people }: Actors): readonly Action[] {
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
  ];
}

function electionChanges({ chance, stage }: ActingParts, { names, makeElection }: Actors): readonly Action[] {
  const { api, clock } = stage;
  const any = () => chance.pick(names) ?? '';
  return [
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
      madeUnusable,
      () => {
        const name = any();
        const found = api.find(elections, namespace, name);
        if (found === null) return null;
        const body = { spec: unusable };
        api.patch(elections, { namespace, name, type: 'merge', body });
        clock.after(chance.seldomLong(50, 8_000), () => {
          if (api.find(elections, namespace, name) !== null)
            api.patch(elections, { namespace, name, type: 'merge', body: { spec: timesOf(found) } });
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

/**
 * An Election gets another Lease, and later the first one again. Only where no program contends, which would
 * stay with the first. A real API server has Leases of its own.
 */
function movesOf({ stage, chance }: ActingParts, { names, people }: Actors): readonly Action[] {
  const { api } = stage;
  if (api.refuse === undefined) return [];
  return [
    [
      'election moved',
      () => {
        const isAlone = (name: string) => people.programs.every((one) => !one.name.startsWith(`${name}-`));
        const name = chance.pick(names.filter(isAlone));
        if (name === undefined || api.find(elections, namespace, name) === null) return null;
        const lease = { name: chance.happens(0.5) ? name : `${name}-other` };
        api.patch(elections, { namespace, name, type: 'merge', body: { spec: { lease } } });
        return `${name} to the Lease ${lease.name}`;
      },
    ],
  ];
}

/** The Lease of an Election. */
export function leaseOf(election: KubeObject | null): string | undefined {
  const { lease } = (election?.spec ?? {}) as { lease?: { name?: string } };
  return lease?.name ?? election?.metadata.name;
}

/** The times from before, if they could be used. */
function timesOf({ spec }: KubeObject): object {
  const { renewDeadlineSeconds, retryPeriodSeconds } = spec as typeof unusable;
  const isUsable = renewDeadlineSeconds > retryPeriodSeconds;
  return isUsable
    ? { renewDeadlineSeconds, retryPeriodSeconds }
    : { renewDeadlineSeconds: 3, retryPeriodSeconds: 1 };
}
