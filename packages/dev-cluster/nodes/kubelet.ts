/**
 * The kubelet stand-in: one Node whose Pods are small real HTTP backends on loopback addresses of their own.
 *
 * A plain client of the Kubernetes API. Promises: each Pod of the node runs once, on an address that no other
 * Pod has; its status tells what is so (pod-status.ts); a deleted Pod drains, ends, and only then leaves the
 * API; a kubelet that starts again adopts the Pods it finds, addresses included. Absent: images, volumes,
 * probes of its own, restarts.
 */

import { hasCode } from '../../../src/base/errors.ts';
import { createAddressPool, parseNetwork } from '../../kube-api/socket-addresses.ts';
import { startInformer } from '../controllers/informer.ts';
import { createReconciler } from '../controllers/reconciler.ts';
import { clusterLimits } from '../limits.ts';
import { hasEnded, isDeleting, keyOf, type PodObject } from '../objects.ts';
import type { DevPart, DevParts } from '../parts.ts';
import { pods as podResource } from '../resources.ts';
import { type BehaviourDefaults, behaviourOf } from './behaviour.ts';
import { hostIp, startNode } from './node.ts';
import { type PodRunner, startPodRunner } from './pod-runner.ts';
import { podStatusPatch, type RunFacts } from './pod-status.ts';
import { createScheduler, isUnscheduled } from './scheduler.ts';

export interface KubeletParts extends DevParts {
  readonly nodeName: string;
  /** Addresses that Pods are advertised with; see addresses.ts for where their sockets are. */
  readonly podCidr: string;
  /** Until the containers of a Pod are ready, unless the Pod says otherwise; ms. */
  readonly startDelayMs?: number;
  /** How long a deleted Pod goes on serving, unless it says otherwise; ms. */
  readonly drainMs?: number;
  /** Whether Pods without a node are bound to this one; default true. */
  readonly schedules?: boolean;
}

export interface Kubelet extends DevPart {
  /** Resolves when the Node is registered and the Pods that were there are taken over. */
  readonly started: Promise<void>;
  /** Pods that run here now, by `<namespace>/<name>`, with their advertised addresses. */
  running(): Map<string, string>;
}

export function startKubelet(parts: KubeletParts): Kubelet {
  const { kube, clock, log, nodeName } = parts;
  const schedules = parts.schedules ?? true;
  const defaults: BehaviourDefaults = {
    startDelayMs: parts.startDelayMs ?? 100,
    drainMs: parts.drainMs ?? 1_000,
  };
  const pool = createAddressPool(parseNetwork(parts.podCidr));
  const runners = new Map<string, PodRunner>();

  const reserved = new Map<string, string>();

  /** Before any Pod gets a new address, the ones that others have are set aside. */
  const reserve = (key: string, pod: PodObject) => {
    const ip = pod.status?.podIP;
    if (ip === undefined || isDeleting(pod) || runners.has(key) || reserved.has(key)) return;
    if (pool.adopt(ip)) reserved.set(key, ip);
  };
  const begin = (key: string, pod: PodObject): PodRunner => {
    const adopted = reserved.get(key);
    reserved.delete(key);
    const runner = startPodRunner({
      pod,
      ip: adopted ?? pool.take(),
      behaviour: behaviourOf(pod, defaults),
      clock,
      isAdopted: adopted !== undefined && pod.status?.phase === 'Running',
      onChange: () => sync.enqueue(key),
    });
    runners.set(key, runner);
    return runner;
  };
  const end = async (key: string) => {
    const runner = runners.get(key);
    if (runner === undefined) return;
    await runner.kill();
    runners.delete(key);
    pool.giveBack(runner.ip);
  };
  const report = async (pod: PodObject, facts: RunFacts, signal: AbortSignal) => {
    const body = podStatusPatch(pod, facts, clock.now());
    if (body === null) return;
    const { name, namespace = '' } = pod.metadata;
    const patch = { namespace, name, subresource: 'status', type: 'strategic', body } as const;
    informer.put(await kube.patch(podResource, patch, signal));
  };

  const reconcile = async (key: string, signal: AbortSignal) => {
    await informer.synced;
    const pod = informer.get(key);
    if (runners.get(key)?.uid !== pod?.metadata.uid) await end(key);
    if (pod === undefined || pod.spec?.nodeName !== nodeName) return;
    if (isDeleting(pod)) return terminate(key, pod, signal);
    if (hasEnded(pod)) return;
    if (!runners.has(key) && runners.size >= clusterLimits.podsMax) return refuse(pod, signal);
    const runner = runners.get(key) ?? begin(key, pod);
    const behaviour = behaviourOf(pod, defaults);
    runner.behave(behaviour);
    await report(pod, factsOf(runner, behaviour.probesPass), signal);
  };

  const terminate = async (key: string, pod: PodObject, signal: AbortSignal) => {
    const runner = runners.get(key);
    const behaviour = behaviourOf(pod, defaults);
    runner?.drain(behaviour, Number(pod.metadata.deletionGracePeriodSeconds ?? 30) * 1_000);
    if (runner?.phase() === 'draining') return report(pod, factsOf(runner, behaviour.probesPass), signal);
    const { name, namespace, uid = '' } = pod.metadata;
    try {
      if (runner !== undefined) await report(pod, factsOf(runner, false), signal);
      await kube.delete(podResource, namespace, name, { uid, gracePeriodSeconds: 0 }, signal);
    } catch (thrown) {
      if (!hasCode(thrown, 'KUBE_NOT_FOUND')) throw thrown;
    }
  };

  const refuse = async (pod: PodObject, signal: AbortSignal) => {
    const { name, namespace = '', uid } = pod.metadata;
    const message = `the node holds ${clusterLimits.podsMax} Pods already`;
    const body = { metadata: { uid }, status: { phase: 'Failed', reason: 'OutOfpods', message } };
    await kube.patch(
      podResource,
      { namespace, name, subresource: 'status', type: 'strategic', body },
      signal,
    );
  };

  const sync = createReconciler({ ...parts, name: 'kubelet', reconcile });
  const scheduler = createScheduler({
    ...parts,
    podAt: (key) => informer.get(key),
    podCount: () => runners.size,
  });
  const informer = startInformer<PodObject>({
    ...parts,
    resource: podResource,
    onChange({ type, object }) {
      const key = keyOf(object);
      if (type === 'set' && object.spec?.nodeName === nodeName) reserve(key, object);
      if (object.spec?.nodeName === nodeName || runners.has(key)) sync.enqueue(key);
      // Also while its predecessor of the same name is still being ended here.
      if (schedules && isUnscheduled(object)) scheduler.enqueue(key);
    },
  });
  const node = startNode({ ...parts, isDedicated: !schedules });
  log.debug({ node: nodeName, podCidr: parts.podCidr }, 'kubelet started');

  return {
    started: Promise.all([node.registered, informer.synced]).then(() => undefined),
    running: () => new Map([...runners].map(([key, runner]) => [key, runner.ip])),
    async stop() {
      await Promise.all([informer.stop(), scheduler.stop(), sync.stop()]);
      await Promise.all([...runners.keys()].map(end));
      await node.stop();
    },
  };
}

function factsOf(runner: PodRunner, probesPass: boolean): RunFacts {
  const phase = runner.phase();
  const hasStarted = runner.startedAt() !== undefined;
  return {
    ip: runner.ip,
    hostIp,
    phase: phase !== 'draining' ? phase : hasStarted ? 'running' : 'starting',
    startedAt: runner.startedAt(),
    probesPass,
    waitingFor: runner.waitingFor(),
  };
}
