/**
 * The second story of the development cluster: a virtual machine behind a Service. When it fails, its
 * endpoint gets no more traffic; when it comes back, it is served again. Orrery probes it and maintains the
 * Service's slice.
 *
 * Owns the machine's process. Plays until it is stopped; its objects stay.
 */
import { join, resolve } from 'node:path';
import { sleep } from '../../../src/base/clock.ts';
import { asError } from '../../../src/base/errors.ts';
import type { KubeObject } from '../../../src/base/kube-port.ts';
import { externalWorkloads } from '../../../src/features/endpoints/resources.ts';
import { managedBy, managedByLabel, serviceNameLabel } from '../../../src/features/endpoints/slice-labels.ts';
import { endpointSlices, services } from '../../../src/kube/api/resources.ts';
import { socketAddress } from '../../kube-api/socket-addresses.ts';
import { startInformer } from '../controllers/informer.ts';
import { ensureObject } from '../manifests.ts';
import type { EndpointSliceObject } from '../objects.ts';
import type { DevPart, DevParts } from '../parts.ts';
import { createReplica } from '../processes/processes.ts';
import { namespaces } from '../resources.ts';
import { inSeconds } from './durations.ts';

export interface OutsideScenarioParts extends Omit<DevParts, 'namespace'> {
  readonly namespace?: string;
  /** The machine's address, in the cluster's outside network. */
  readonly address: string;
  /** For its log file. */
  readonly dir: string;
  readonly print: (line: string) => void;
  /** How long the machine runs before it goes away, ms. */
  readonly upMs?: number;
  readonly downMs?: number;
}

export interface OutsideScenario extends DevPart {
  /** How often the endpoint was seen ready, and seen not ready after that. */
  seen(): { readonly up: number; readonly down: number };
}

const program = resolve(import.meta.dirname, '../nodes/virtual-machine.ts');
const port = 8080;
const lookMs = 50;

export function startOutsideScenario(parts: OutsideScenarioParts): OutsideScenario {
  const { kube, clock, random, log, print, address, upMs = 25_000, downMs = 8_000 } = parts;
  const namespace = parts.namespace ?? 'shop';
  const stopping = new AbortController();
  const { signal } = stopping;
  let [up, down] = [0, 0];
  const machine = createReplica({
    name: 'vm-1',
    program,
    args: ['vm-1', socketAddress(address), String(port)],
    logFile: join(parts.dir, 'vm-1.log'),
    clock,
    restarts: false,
    onDeath: () => {},
  });
  const slices = startInformer<EndpointSliceObject>({
    ...{ kube, clock, random, log, namespace },
    resource: endpointSlices,
    labelSelector: `${managedByLabel}=${managedBy},${serviceNameLabel}=legacy`,
  });
  const isReady = () => slices.all().some(servesSomebody);
  const until = async (ready: boolean): Promise<string> => {
    const began = clock.monotonic();
    while (isReady() !== ready) await sleep(clock, lookMs, signal);
    return inSeconds(clock.monotonic() - began);
  };
  const play = async () => {
    await ensureObject(kube, namespaces, { metadata: { name: namespace } }, signal);
    await ensureObject(kube, services, legacyService(namespace), signal);
    await ensureObject(kube, externalWorkloads, virtualMachine(namespace, address), signal);
    print(`outside: virtual machine vm-1 (${address}) behind Service legacy, probed every 2 s`);
    for (;;) {
      machine.start();
      const back = await until(true);
      up += 1;
      print(`outside: vm-1 answers its probe; the Service sends it traffic after ${back}`);
      await sleep(clock, upMs, signal);
      await machine.kill('SIGKILL');
      const gone = await until(false);
      down += 1;
      print(`outside: vm-1 failed; its endpoint is not ready after ${gone}`);
      await sleep(clock, downMs, signal);
    }
  };
  const playing = play().catch((thrown) => {
    if (!signal.aborted) print(`outside: ${asError(thrown).message}`);
  });

  return {
    seen: () => ({ up, down }),
    async stop() {
      stopping.abort(new Error('the scenario is over'));
      await playing;
      await slices.stop();
      await machine.stop();
    },
  };
}

function servesSomebody({ endpoints }: EndpointSliceObject): boolean {
  return endpoints?.some(({ conditions }) => conditions?.ready === true) === true;
}

function legacyService(namespace: string): KubeObject {
  return {
    metadata: { name: 'legacy', namespace },
    spec: { selector: { app: 'legacy' }, ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
  };
}

function virtualMachine(namespace: string, ip: string): KubeObject {
  return {
    apiVersion: 'workload.linkerd.io/v1beta1',
    kind: 'ExternalWorkload',
    metadata: {
      name: 'vm-1',
      namespace,
      labels: { app: 'legacy' },
      annotations: { 'orrery.dev/probe': `http://:${port}/healthz period=2s failures=2` },
    },
    spec: {
      meshTLS: { identity: 'spiffe://shop.example.com/legacy', serverName: 'legacy.shop.example.com' },
      workloadIPs: [{ ip }],
      ports: [{ name: 'http', port }],
    },
  };
}
