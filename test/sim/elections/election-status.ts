/** What the status of an Election has to say (docs/features/elections.md §7.2, §8.5). */
import { elections } from '../../../src/features/elections/resources.ts';
import {
  type Candidate,
  type ElectionContext,
  timingOf,
} from '../../../src/machines/election/election-context.ts';
import { holderAt } from '../../../src/machines/election/election-words.ts';
import type { StatusPromise } from '../checkers/true-statuses.ts';

export const electionStatus: StatusPromise = {
  name: 'the status says what the election knows',
  resource: elections,
  effect: 'election-status.patch',
  // A failed write is repeated within ten seconds.
  withinMs: 12_000,
  // A watch that broke often while the API server failed pauses for up to half a minute.
  noticedMs: 30_000,
  actorOf: ({ metadata: { namespace, name } }) => `election/${namespace}/${name}`,
  wanted({ snapshot }, { metadata }, now) {
    const context = snapshot.context as ElectionContext;
    const { facts, term } = context;
    // How late the actor hears of another object or spec is for the mirror, and for liveness, to check.
    if (facts === null || facts.uid !== metadata.uid) return null;
    return {
      observedGeneration: facts.generation,
      term,
      holder: (said: unknown) => isHolder(context, said, now),
      candidates: (said: unknown) => areCandidates(context, said, now),
      transitions: context.seen?.record?.transitions ?? 0,
      renewTime: (said: unknown) => isRecent(context, said, now),
      conditions: { Valid: { status: facts.invalid === null ? 'True' : 'False' } },
    };
  },
};

/** While one of ours leads, the time of its renewal is written about once per lease duration (§8.2). */
function isRecent(context: ElectionContext, said: unknown, now: number): boolean {
  return context.reign === null || now - Date.parse(String(said)) <= 2 * timingOf(context).leaseMs;
}

/** A renewal that changes nothing but a deadline may be in no record yet (§8.4). */
function isHolder(context: ElectionContext, said: unknown, now: number): boolean {
  const { reign, former } = context;
  // A candidate that was told that it leads does so until its time is over (§5.3).
  const isTold = reign === null && former !== null && (former.toldUntil ?? 0) > now;
  if (isTold) return said === former.holder;
  return said === holderAt(context, now) || (reign !== null && said === reign.holder);
}

function areCandidates({ candidates, reign }: ElectionContext, said: unknown, now: number): boolean {
  if (!Array.isArray(said)) return false;
  const all = Object.entries(candidates);
  const isSurely = ({ until }: Candidate) => until === null || until > now;
  const isPerhaps = ({ until, ttlMs }: Candidate) => until === null || until + (ttlMs ?? 0) > now;
  const missing = all.filter(([name, one]) => isSurely(one) && !said.includes(name));
  const mayBe = new Set(all.filter(([, one]) => isPerhaps(one)).map(([name]) => name));
  const isStray = (name: unknown) => name !== reign?.holder && !mayBe.has(name as string);
  return missing.length === 0 && !said.some(isStray);
}
