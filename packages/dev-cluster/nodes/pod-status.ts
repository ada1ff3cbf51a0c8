/**
 * What the kubelet stand-in writes into a Pod's status. Pure.
 *
 * Promises: the patch contains only its own conditions (merged by type, so a gate's condition is never
 * touched). Ready is True only if the containers are ready and every readiness gate's condition is True
 * (Kubernetes KEP-580). A condition's transition time changes only with its status. The patch is null if the
 * Pod already says all of it.
 */
import { timestamp } from '../../../src/base/clock.ts';
import { type Condition, type Container, conditionOf, isTrue, type PodObject } from '../objects.ts';

export interface RunFacts {
  readonly ip: string;
  readonly hostIp: string;
  readonly phase: 'starting' | 'running' | 'ended';
  /** Wall time, ms. */
  readonly startedAt: number | undefined;
  readonly probesPass: boolean;
  /** Why the containers do not start, if that is so. */
  readonly waitingFor: string | undefined;
}

/** The body of a strategic merge patch for the status subresource, or null. */
export function podStatusPatch(
  pod: PodObject,
  facts: RunFacts,
  nowMs: number,
): Record<string, unknown> | null {
  const wanted = kubeletConditions(pod, facts);
  const conditions = wanted.filter((condition) => !says(pod, condition)).map((c) => dated(pod, c, nowMs));
  const phase = { starting: 'Pending', running: 'Running', ended: 'Succeeded' }[facts.phase];
  const containerStatuses = (pod.spec?.containers ?? []).map((c) => containerStatus(c, pod, facts, nowMs));
  const isCurrent =
    conditions.length === 0 &&
    pod.status?.phase === phase &&
    pod.status.podIP === facts.ip &&
    JSON.stringify(containerStatuses.map(shape)) === JSON.stringify(pod.status.containerStatuses?.map(shape));
  if (isCurrent) return null;
  return {
    metadata: { uid: pod.metadata.uid },
    status: {
      phase,
      podIP: facts.ip,
      podIPs: podIPs(pod, facts.ip),
      hostIP: facts.hostIp,
      hostIPs: [{ ip: facts.hostIp }],
      startTime: pod.status?.startTime ?? timestamp(nowMs),
      conditions,
      containerStatuses,
    },
  };
}

/**
 * The list merges by address, so another address that is there (a node whose range changed) has to be
 * replaced by name.
 */
function podIPs(pod: PodObject, ip: string) {
  const isOther = pod.status?.podIP !== undefined && pod.status.podIP !== ip;
  return isOther ? [{ ip }, { $patch: 'replace' }] : [{ ip }];
}

function kubeletConditions(pod: PodObject, facts: RunFacts): Condition[] {
  const isUp = facts.phase === 'running' && facts.probesPass;
  const containers = isUp
    ? yes('ContainersReady')
    : no(
        'ContainersReady',
        facts.phase === 'ended' ? 'PodCompleted' : 'ContainersNotReady',
        `containers with unready status: [${(pod.spec?.containers ?? []).map((c) => c.name).join(' ')}]`,
      );
  const gates = isUp ? unmetGates(pod) : [];
  const ready = !isUp
    ? { ...containers, type: 'Ready' }
    : gates.length === 0
      ? yes('Ready')
      : no('Ready', 'ReadinessGatesNotReady', gates.join(', '));
  return [yes('PodScheduled'), yes('Initialized'), containers, ready];
}

function unmetGates(pod: PodObject): string[] {
  return (pod.spec?.readinessGates ?? [])
    .map((gate) => gate.conditionType)
    .filter((type) => !isTrue(pod, type))
    .map((type) => {
      const held = conditionOf(pod, type);
      return held === undefined
        ? `corresponding condition of pod readiness gate "${type}" does not exist.`
        : `the status of pod readiness gate "${type}" is not "True", but ${held.status}`;
    });
}

const yes = (type: string): Condition => ({ type, status: 'True' });
const no = (type: string, reason: string, message: string): Condition => ({
  type,
  status: 'False',
  reason,
  message,
});

function says(pod: PodObject, wanted: Condition): boolean {
  const held = conditionOf(pod, wanted.type);
  return (
    held?.status === wanted.status &&
    (held.reason ?? '') === (wanted.reason ?? '') &&
    (held.message ?? '') === (wanted.message ?? '')
  );
}

/** A strategic merge keeps fields that a patch omits, so an old reason must be emptied explicitly. */
function dated(pod: PodObject, wanted: Condition, nowMs: number): Condition {
  const held = conditionOf(pod, wanted.type);
  const hasMoved = held?.status !== wanted.status;
  return {
    ...wanted,
    reason: wanted.reason ?? '',
    message: wanted.message ?? '',
    lastTransitionTime: hasMoved ? timestamp(nowMs) : (held.lastTransitionTime ?? timestamp(nowMs)),
  };
}

function containerStatus(container: Container, pod: PodObject, facts: RunFacts, nowMs: number) {
  const startedAt = timestamp(facts.startedAt ?? nowMs);
  const state = {
    starting: { waiting: { reason: facts.waitingFor ?? 'ContainerCreating' } },
    running: { running: { startedAt } },
    ended: { terminated: { exitCode: 0, reason: 'Completed', startedAt, finishedAt: timestamp(nowMs) } },
  }[facts.phase];
  return {
    name: container.name,
    image: container.image ?? '',
    imageID: '',
    ...(facts.phase === 'starting' ? {} : { containerID: `dev://${pod.metadata.uid}/${container.name}` }),
    ready: facts.phase === 'running' && facts.probesPass,
    started: facts.phase === 'running',
    restartCount: 0,
    state,
  };
}

/** What of a container's status is worth a write; times alone are not. */
function shape(status: Readonly<Record<string, unknown>>) {
  const state = status.state as Record<string, { reason?: string }> | undefined;
  const waiting = state?.waiting?.reason ?? '';
  return [
    status.name,
    status.ready,
    status.started,
    Object.keys(state ?? {})
      .sort()
      .join(),
    waiting,
  ];
}
