/**
 * What the statuses of RouteGates and the conditions of Pods have to say (docs/features/routes.md §7.1, §7.2,
 * §7.5, §7.7), judged by the objects themselves and not by the actors' counts.
 */
import type { KubeObject } from '../../../src/base/kube-port.ts';
import { pods, routeGates } from '../../../src/features/routes/resources.ts';
import type { PodContext } from '../../../src/machines/pod/pod-context.ts';
import type { StatusPromise, Wanted } from '../checkers/true-statuses.ts';
import type { ApiStage } from '../features/feature-world.ts';
import { conditionOf, gatesOf, isOver, typeOf } from './gate-objects.ts';
import { verifyingReason } from './gate-verifying.ts';

/** How long the first has waited is reported every ten seconds. */
const waitToldMs = 25_000;

export const gateStatus = (stage: ApiStage): StatusPromise => ({
  name: 'the status of a RouteGate counts what is there',
  resource: routeGates,
  effect: 'routegate-status.patch',
  // A failed watch is tried again within half a minute; then lists are made anew.
  withinMs: 75_000,
  // A watch that broke often while the API server failed pauses for up to half a minute.
  noticedMs: 30_000,
  actorOf: ({ metadata: { namespace, name } }) => `routegate/${namespace}/${name}`,
  wanted: (_record, gate, now) => gateWanted(stage, gate, now),
});

/** Those that hold Pods, oldest first; an invalid one, or one beside an older one of its type, does not. */
function holdersIn({ api }: ApiStage): readonly KubeObject[] {
  const age = ({ metadata }: KubeObject) => `${metadata.creationTimestamp} ${metadata.name}`;
  const usable = api.all(routeGates).filter((gate) => !isInvalid(gate));
  const sorted = usable.sort((a, b) => (age(a) < age(b) ? -1 : 1));
  return sorted.filter((gate, n) => sorted.findIndex((one) => typeOf(one) === typeOf(gate)) === n);
}

export const holderIn = (stage: ApiStage, type: string): KubeObject | undefined =>
  holdersIn(stage).find((gate) => typeOf(gate) === type);

export const isInvalid = ({ spec }: KubeObject) => (spec as { conditionType?: string }).conditionType === '';

function gateWanted(stage: ApiStage, gate: KubeObject, now: number): Wanted {
  const observedGeneration = gate.metadata.generation;
  if (isInvalid(gate))
    return { observedGeneration, conditions: { Valid: { status: 'False', reason: 'InvalidSpec' } } };
  const selected = stage.api.all(pods).filter((pod) => !isOver(pod));
  const type = typeOf(gate);
  const isHolder = holderIn(stage, type)?.metadata.uid === gate.metadata.uid;
  const gated = selected.filter((pod) => gatesOf(pod).includes(type));
  const held = isHolder ? gated : [];
  const waiting = held.filter((pod) => conditionOf(pod, type)?.status !== 'True');
  const reasons = held.flatMap((pod) =>
    waiting.includes(pod) ? [] : (conditionOf(pod, type)?.reason ?? ''),
  );
  const overlaps = !isHolder && gated.length > 0;
  const unverified = reasons.filter((one) => one === 'Unverified' || one === 'NothingToVerify').length;
  return {
    observedGeneration,
    pods: held.length,
    waiting: waiting.length,
    ready: held.length - waiting.length,
    ungated: selected.length - gated.length,
    verified: reasons.filter((one) => one === 'RoutesVerified').length,
    unverified,
    longestWaitSeconds: (said: unknown) => isWaitTrue(waiting, type, said, now),
    conditions: {
      Valid: { status: 'True', reason: overlaps ? 'Overlaps' : 'InUse' },
      Verifying: { reason: verifyingReason(stage, held, unverified) },
    },
  };
}

function isWaitTrue(waiting: readonly KubeObject[], type: string, said: unknown, now: number): boolean {
  const since = waiting.map((pod) => {
    const { reason, lastTransitionTime } = conditionOf(pod, type) ?? {};
    return Date.parse((reason === 'RouteLost' ? lastTransitionTime : pod.metadata.creationTimestamp) ?? '');
  });
  if (since.length === 0) return said === 0;
  const longestMs = now - Math.min(...since);
  const saidMs = Number(said) * 1_000;
  return saidMs <= longestMs + 3_000 && saidMs >= longestMs - waitToldMs;
}

/** After so long a Pod's actor looks again and writes what it finds (docs/features/routes.md §7.10). */
const unseenMs = 330_000;

/** A Pod that no usable RouteGate holds needs no actor. */
export const podCondition = (stage: ApiStage, type: string): StatusPromise => ({
  name: 'a Pod that is held back says so',
  resource: pods,
  effect: 'pod-condition.patch',
  withinMs: 45_000,
  actorOf(pod) {
    if (isOver(pod) || !gatesOf(pod).includes(type)) return null;
    // The oldest that holds it speaks to the Pod's own actor, each other one to another (§2.3).
    const holders = holdersIn(stage).filter((gate) => gatesOf(pod).includes(typeOf(gate)));
    const at = holders.findIndex((gate) => typeOf(gate) === type);
    const id = `pod/${pod.metadata.namespace}/${pod.metadata.name}`;
    return at < 0 ? null : at === 0 ? id : `${id}@${holders[at]?.metadata.name}`;
  },
  wanted({ snapshot, at }, _pod, now) {
    const { gated } = snapshot.value as { readonly gated?: unknown };
    if (gated === undefined) return null;
    const isReady = typeof gated === 'object' && gated !== null && 'ready' in gated;
    const { facts } = snapshot.context as PodContext;
    // Somebody took the condition away before the actor saw it as True: it looks again after a while.
    if (isReady && facts?.condition !== 'True' && now - at < unseenMs) return null;
    return { conditions: { [type]: { status: isReady ? 'True' : 'False' } } };
  },
});
