/**
 * The Node of the kubelet stand-in: registered, kept Ready by heartbeats, and created again if somebody
 * deletes it.
 */

import { arch, platform, release, type } from 'node:os';
import type { Timer } from '../../../src/base/clock.ts';
import { timestamp } from '../../../src/base/clock.ts';
import { asError, hasCode } from '../../../src/base/errors.ts';
import { clusterLimits } from '../limits.ts';
import type { DevPart, DevParts } from '../parts.ts';
import { nodes } from '../resources.ts';

export interface NodeParts extends DevParts {
  readonly nodeName: string;
  /** Keeps away the Pods of other schedulers. */
  readonly isDedicated: boolean;
}

export const hostIp = '127.0.0.1';

/** Kubernetes' node controller expects one within 50 s; kubelets send one every 10 s. */
const heartbeatMs = 10_000;
/** Time limit of the last heartbeat, ms. */
const lastBeatMs = 1_000;

export interface NodePart extends DevPart {
  /** Resolves when the Node has been registered for the first time. */
  readonly registered: Promise<void>;
}

export function startNode(parts: NodeParts): NodePart {
  const { kube, clock, log, nodeName } = parts;
  const stopping = new AbortController();
  const { signal } = stopping;
  const registration = Promise.withResolvers<void>();
  let timer: Timer | undefined;

  const beat = async (isReady: boolean, within: AbortSignal) => {
    const body = { status: statusOf(nodeName, isReady, clock.now()) };
    const patch = () =>
      kube.patch(nodes, { name: nodeName, subresource: 'status', type: 'strategic', body }, within);
    try {
      await patch();
    } catch (thrown) {
      if (!hasCode(thrown, 'KUBE_NOT_FOUND') || !isReady) throw thrown;
      await kube.create(nodes, nodeObject(parts), within);
      await patch();
    }
  };
  const run = async () => {
    let pauseMs = heartbeatMs;
    try {
      await beat(true, signal);
      registration.resolve();
    } catch (thrown) {
      if (signal.aborted) return;
      log.warn({ node: nodeName, error: asError(thrown).message }, 'heartbeat failed');
      pauseMs = clusterLimits.retryMaxMs / 2;
    }
    if (!signal.aborted) timer = clock.after(pauseMs, () => void run());
  };
  void run();

  return {
    registered: registration.promise,
    async stop() {
      stopping.abort();
      timer?.cancel();
      const bound = new AbortController();
      const deadline = clock.after(lastBeatMs, () => bound.abort());
      // Best effort: a Node without a kubelet must not look ready, but the API server may already be gone.
      await beat(false, bound.signal).catch(() => {});
      deadline.cancel();
    },
  };
}

function nodeObject(parts: NodeParts) {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: parts.nodeName,
      labels: { 'kubernetes.io/hostname': parts.nodeName, 'orrery.dev/dev': 'true' },
    },
    spec: parts.isDedicated
      ? { taints: [{ key: 'orrery.dev/dev', value: 'true', effect: 'NoSchedule' }] }
      : {},
  };
}

function statusOf(nodeName: string, isReady: boolean, nowMs: number) {
  const room = { pods: String(clusterLimits.podsMax), cpu: '8', memory: '16Gi' };
  return {
    capacity: room,
    allocatable: room,
    nodeInfo: machineInfo(),
    addresses: [
      { type: 'InternalIP', address: hostIp },
      { type: 'Hostname', address: nodeName },
    ],
    conditions: [
      {
        type: 'Ready',
        status: isReady ? 'True' : 'Unknown',
        reason: isReady ? 'KubeletReady' : 'KubeletStopped',
        message: isReady ? 'the development kubelet runs' : 'the development kubelet was stopped',
        lastHeartbeatTime: timestamp(nowMs),
        lastTransitionTime: timestamp(nowMs),
      },
    ],
  };
}

/** The machine that this runs on; kubelet and container runtime are names only. */
function machineInfo() {
  return {
    architecture: arch() === 'x64' ? 'amd64' : arch(),
    bootID: '',
    containerRuntimeVersion: `node://${process.versions.node}`,
    kernelVersion: release(),
    kubeProxyVersion: '',
    kubeletVersion: 'orrery-dev',
    machineID: '',
    operatingSystem: platform(),
    osImage: type(),
    systemUUID: '',
  };
}
