/**
 * The kubelet stand-in: one Node whose Pods are small real HTTP backends on loopback addresses of their own.
 *
 * It is a plain client of the Kubernetes API. Promises: each Pod of the node runs once, on an address that no
 * other Pod has. Its status is true (pod-status.ts). A deleted Pod drains, ends, and only then leaves the
 * API. A kubelet that starts again adopts the Pods that it finds, addresses included. Absent: images,
 * volumes, probes of its own, restarts.
 */

import { hasCode } from '../../../src/base/errors.ts';
import { type AddressPool, createAddressPool, parseNetwork } from '../../kube-api/socket-addresses.ts';
import { type Informer, startInformer } from '../controllers/informer.ts';
import { createReconciler, type Reconciler } from '../controllers/reconciler.ts';
import { clusterLimits } from '../limits.ts';
import { hasEnded, isDeleting, keyOf, type PodObject } from '../objects.ts';
import type { DevPart, DevParts } from '../parts.ts';
import { pods as podResource } from '../resources.ts';
import { type BehaviourDefaults, behaviourOf } from './behaviour.ts';
import { hostIp, startNode } from './node.ts';
import { PodRunner } from './pod-runner.ts';
import { podStatusPatch, type RunFacts } from './pod-status.ts';
import { createScheduler, isUnscheduled } from './scheduler.ts';

export interface KubeletParts extends DevParts {
  readonly nodeName: string;
  /** Addresses that Pods are advertised with; socket-addresses.ts says where their sockets are. */
  readonly podCidr: string;
  /** Time until the containers of a Pod are ready, unless the Pod says otherwise; ms. */
  readonly startDelayMs?: number;
  /** How long a deleted Pod continues to serve, unless it says otherwise; ms. */
  readonly drainMs?: number;
  /** Whether Pods without a node are bound to this one; default true. */
  readonly schedules?: boolean;
}

export class Kubelet implements DevPart {
  /** Resolves when the Node is registered and the existing Pods have been adopted. */
  readonly started: Promise<void>;
  readonly #parts: KubeletParts;
  readonly #schedules: boolean;
  readonly #defaults: BehaviourDefaults;
  readonly #pool: AddressPool;
  readonly #runners = new Map<string, PodRunner>();
  readonly #reserved = new Map<string, string>();
  readonly #sync: Reconciler;
  readonly #scheduler: Reconciler;
  readonly #informer: Informer<PodObject>;
  readonly #node: DevPart;

  constructor(parts: KubeletParts) {
    this.#parts = parts;
    this.#schedules = parts.schedules ?? true;
    this.#defaults = { startDelayMs: parts.startDelayMs ?? 100, drainMs: parts.drainMs ?? 1_000 };
    this.#pool = createAddressPool(parseNetwork(parts.podCidr));
    const reconcile = (key: string, signal: AbortSignal) => this.#reconcile(key, signal);
    this.#sync = createReconciler({ ...parts, name: 'kubelet', reconcile });
    this.#scheduler = createScheduler({
      ...parts,
      podAt: (key) => this.#informer.get(key),
      podCount: () => this.#runners.size,
    });
    this.#informer = startInformer<PodObject>({
      ...parts,
      resource: podResource,
      onChange: ({ type, object }) => this.#notice(type === 'set', object),
    });
    const node = startNode({ ...parts, isDedicated: !this.#schedules });
    this.#node = node;
    this.started = Promise.all([node.registered, this.#informer.synced]).then(() => undefined);
    parts.log.debug({ node: parts.nodeName, podCidr: parts.podCidr }, 'kubelet started');
  }

  /** Pods that run here now, by `<namespace>/<name>`, with their advertised addresses. */
  running(): Map<string, string> {
    return new Map([...this.#runners].map(([key, runner]) => [key, runner.ip]));
  }

  async stop(): Promise<void> {
    await Promise.all([this.#informer.stop(), this.#scheduler.stop(), this.#sync.stop()]);
    await Promise.all([...this.#runners.keys()].map((key) => this.#end(key)));
    await this.#node.stop();
  }

  #notice(isThere: boolean, pod: PodObject): void {
    const key = keyOf(pod);
    const isOurs = pod.spec?.nodeName === this.#parts.nodeName;
    if (isThere && isOurs) this.#reserve(key, pod);
    if (isOurs || this.#runners.has(key)) this.#sync.enqueue(key);
    // Even while its predecessor of the same name is still ending here.
    if (this.#schedules && isUnscheduled(pod)) this.#scheduler.enqueue(key);
  }

  /** Sets aside the addresses that Pods already have, before any Pod gets a new one. */
  #reserve(key: string, pod: PodObject): void {
    const ip = pod.status?.podIP;
    if (ip === undefined || isDeleting(pod) || this.#runners.has(key) || this.#reserved.has(key)) return;
    if (this.#pool.adopt(ip)) this.#reserved.set(key, ip);
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    await this.#informer.synced;
    const pod = this.#informer.get(key);
    if (this.#runners.get(key)?.uid !== pod?.metadata.uid) await this.#end(key);
    if (pod === undefined || pod.spec?.nodeName !== this.#parts.nodeName) return;
    if (isDeleting(pod)) return this.#terminate(key, pod, signal);
    if (hasEnded(pod)) return;
    if (!this.#runners.has(key) && this.#runners.size >= clusterLimits.podsMax)
      return this.#refuse(pod, signal);
    const runner = this.#runners.get(key) ?? this.#begin(key, pod);
    const behaviour = behaviourOf(pod, this.#defaults);
    runner.behave(behaviour);
    await this.#report(pod, factsOf(runner, behaviour.probesPass), signal);
  }

  #begin(key: string, pod: PodObject): PodRunner {
    const adopted = this.#reserved.get(key);
    this.#reserved.delete(key);
    const runner = new PodRunner({
      pod,
      ip: adopted ?? this.#pool.take(),
      behaviour: behaviourOf(pod, this.#defaults),
      clock: this.#parts.clock,
      isAdopted: adopted !== undefined && pod.status?.phase === 'Running',
      onChange: () => this.#sync.enqueue(key),
    });
    this.#runners.set(key, runner);
    return runner;
  }

  async #end(key: string): Promise<void> {
    const runner = this.#runners.get(key);
    if (runner === undefined) return;
    await runner.kill();
    this.#runners.delete(key);
    this.#pool.giveBack(runner.ip);
  }

  async #report(pod: PodObject, facts: RunFacts, signal: AbortSignal): Promise<void> {
    const body = podStatusPatch(pod, facts, this.#parts.clock.now());
    if (body !== null) this.#informer.put(await this.#patchStatus(pod, body, signal));
  }

  async #terminate(key: string, pod: PodObject, signal: AbortSignal): Promise<void> {
    const runner = this.#runners.get(key);
    const behaviour = behaviourOf(pod, this.#defaults);
    runner?.drain(behaviour, Number(pod.metadata.deletionGracePeriodSeconds ?? 30) * 1_000);
    if (runner?.phase() === 'draining')
      return this.#report(pod, factsOf(runner, behaviour.probesPass), signal);
    const { name, namespace, uid = '' } = pod.metadata;
    try {
      if (runner !== undefined) await this.#report(pod, factsOf(runner, false), signal);
      await this.#parts.kube.delete(podResource, namespace, name, { uid, gracePeriodSeconds: 0 }, signal);
    } catch (thrown) {
      if (!hasCode(thrown, 'KUBE_NOT_FOUND')) throw thrown;
    }
  }

  async #refuse(pod: PodObject, signal: AbortSignal): Promise<void> {
    const message = `the node holds ${clusterLimits.podsMax} Pods already`;
    const status = { phase: 'Failed', reason: 'OutOfpods', message };
    await this.#patchStatus(pod, { metadata: { uid: pod.metadata.uid }, status }, signal);
  }

  #patchStatus(pod: PodObject, body: object, signal: AbortSignal): Promise<PodObject> {
    const { name, namespace = '' } = pod.metadata;
    const patch = { namespace, name, subresource: 'status', type: 'strategic', body } as const;
    return this.#parts.kube.patch(podResource, patch, signal);
  }
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
