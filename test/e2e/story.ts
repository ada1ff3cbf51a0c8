/**
 * What a run's event stream says, for the checkers of the whole-path tests.
 */

import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { Transition } from '../../src/base/views.ts';
import { connectNats } from '../../src/bus/nats/nats.ts';
import { subjects as subjectsOf } from '../../src/bus/subjects.ts';
import type { RouteProof, RouteProven } from '../../src/machines/service/route-events.ts';

/** Every transition so far, in the order of the stream. */
export async function readStory(natsUrl: string, cluster = 'dev'): Promise<Transition[]> {
  const bus = await connectNats({
    servers: [natsUrl],
    name: 'test',
    cluster,
    clock: systemClock,
    random: systemRandom,
  });
  const story: Transition[] = [];
  const text = new TextDecoder();
  try {
    const following = await bus.follow('event', {
      subjects: [subjectsOf(cluster).eventAll],
      from: { kind: 'sequence', sequence: 1 },
      onMessage: ({ data }) => story.push(JSON.parse(text.decode(data)) as Transition),
    });
    await following.caughtUp;
    await following.stop();
  } finally {
    await bus.close();
  }
  return story;
}

interface PodEventFields {
  readonly type: string;
  readonly facts?: {
    readonly uid: string;
    readonly services: Readonly<Record<string, string | null>>;
  } | null;
}

/**
 * One Pod's life according to the stream: the proofs that it had when its condition was requested to be True.
 */
export interface Marking {
  readonly pod: string;
  readonly uid: string;
  readonly at: number;
  readonly wanted: readonly string[];
  readonly proven: readonly string[];
}

/** Every time that a Pod's condition was requested to be True, with what was proven by then. */
export function markings(story: readonly Transition[]): Marking[] {
  const proofs = new Map<string, Set<string>>();
  const wanted = new Map<string, { uid: string; services: readonly string[] }>();
  const found: Marking[] = [];
  for (const { id, at, event, effects } of story) {
    if (!id.startsWith('pod/')) continue;
    const { type, facts } = event as unknown as PodEventFields;
    if (type === 'pod.observed' && facts) {
      wanted.set(id, { uid: facts.uid, services: Object.keys(facts.services) });
    }
    for (const { service, uid } of proofsIn(event)) {
      const key = `${id}/${uid}`;
      proofs.set(key, (proofs.get(key) ?? new Set()).add(service));
    }
    for (const effect of effects) {
      if (effect.type !== 'pod-condition.patch' || effect.status !== 'True') continue;
      const one = wanted.get(id);
      const proven = [...(proofs.get(`${id}/${effect.uid}`) ?? [])];
      found.push({ pod: id, uid: String(effect.uid), at, wanted: one?.services ?? [], proven });
    }
  }
  return found;
}

/** Proofs that came while the Pod was busy are merged into one event. */
export function proofsIn(event: Transition['event']): readonly RouteProof[] {
  if (event.type !== 'route.proven') return [];
  const { also = [], ...first } = event as unknown as RouteProven;
  return [first, ...also];
}

/** Questions for a proof that the Pod already had: there must be none, even after owners were killed. */
export function questionsAskedTwice(story: readonly Transition[]): string[] {
  const proven = new Set<string>();
  const twice: string[] = [];
  for (const { id, rev, event, effects } of story) {
    if (!id.startsWith('pod/')) continue;
    for (const { service, uid } of proofsIn(event)) proven.add(`${id}/${uid}/${service}`);
    for (const effect of effects) {
      const question = effect.event as { type: string; uid: string } | undefined;
      if (effect.type !== 'message.send' || question?.type !== 'route.wanted') continue;
      for (const to of effect.to as string[]) {
        const asked = `${id}/${question.uid}/${to.split('/')[2]}`;
        if (proven.has(asked)) twice.push(`${asked} at rev ${rev}`);
      }
    }
  }
  return twice;
}

/** Actors whose revisions on the stream do not grow by one. */
export function gaps(story: readonly Transition[]): string[] {
  const last = new Map<string, number>();
  const found: string[] = [];
  for (const { id, rev } of story) {
    const before = last.get(id) ?? 0;
    if (rev !== before + 1) found.push(`${id}: ${before} then ${rev}`);
    last.set(id, rev);
  }
  return found;
}
