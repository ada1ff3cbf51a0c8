/**
 * The part of the scenario about elections: two tills of the shop, of which one may be open at a time.
 *
 * From time to time the open till closes cleanly, or falls silent as if it had died. The other one
 * takes over, and the time that this took is reported. Plays until it is stopped; the Election stays.
 */

import { type Clock, sleep } from '../../../src/base/clock.ts';
import type { KubePort } from '../../../src/base/kube-port.ts';
import type { Log } from '../../../src/base/log.ts';
import type { Bus } from '../../../src/bus/bus.ts';
import type { Subjects } from '../../../src/bus/subjects.ts';
import { elections } from '../../../src/features/elections/resources.ts';
import { ensureObject } from '../manifests.ts';
import type { DevPart } from '../parts.ts';
import { namespaces } from '../resources.ts';
import { Candidate } from './candidate.ts';
import { inSeconds } from './durations.ts';

export interface ElectionScenarioParts {
  readonly kube: KubePort;
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly clock: Clock;
  readonly log: Log;
  readonly print: (line: string) => void;
  /** Time from one change of leader to the next, ms. */
  readonly changeEveryMs?: number;
}

const election = { namespace: 'shop', name: 'till' };
const ttlMs = 3_000;
/** Longer than the other one needs to take over. */
const silenceMs = 3 * ttlMs;

export function startElectionScenario(parts: ElectionScenarioParts): DevPart {
  const { kube, clock, print } = parts;
  const stopping = new AbortController();
  const { signal } = stopping;
  const tills: Candidate[] = [];
  let lostAt: number | null = null;

  const open = (id: string) =>
    new Candidate({
      ...parts,
      election,
      id,
      ttlMs,
      onLeading(term) {
        const after = lostAt === null ? '' : `, ${inSeconds(clock.monotonic() - lostAt)} after the other one`;
        lostAt = null;
        print(`election: ${id} leads ${election.namespace}/${election.name} under term ${term}${after}`);
      },
    });
  const change = async (isGraceful: boolean) => {
    const leader = tills.find((till) => till.term() !== null);
    if (leader === undefined) return;
    lostAt = clock.monotonic();
    print(`election: ${leader.id} ${isGraceful ? 'resigns' : 'falls silent'}`);
    if (isGraceful) await leader.resign().catch(() => {});
    else leader.fallSilent(silenceMs);
  };
  const play = async () => {
    const { namespace, name } = election;
    await ensureObject(kube, namespaces, { metadata: { name: namespace } }, signal);
    await ensureObject(kube, elections, { metadata: { namespace, name }, spec: {} }, signal);
    tills.push(open('till-a'), open('till-b'));
    for (let isGraceful = true; !signal.aborted; isGraceful = !isGraceful) {
      await sleep(clock, parts.changeEveryMs ?? 25_000, signal);
      await change(isGraceful);
    }
  };
  const playing = play().catch((thrown) => {
    if (!signal.aborted) print(`election: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  });

  return {
    async stop() {
      stopping.abort(new Error('stopped'));
      await playing;
      for (const till of tills) till.stop();
    },
  };
}
