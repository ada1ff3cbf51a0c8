/**
 * A release roll-over: the replicas have a bundle, and some time after the start they are replaced one by one
 * by replicas of the next release, while everything else continues. It is reported from the Release resource
 * alone, as a person would see it.
 *
 * What the next release writes is incompatible with the one before, so the first new replica leads and waits
 * until the last old one has gone.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, sleep } from '../../../src/base/clock.ts';
import { asError, hasCode } from '../../../src/base/errors.ts';
import type { KubePort } from '../../../src/base/kube-port.ts';
import { releases } from '../../../src/features/releases/resources.ts';
import type { DevCluster } from '../cluster.ts';
import type { DevPart } from '../parts.ts';
import { untilReady } from '../processes/replicas.ts';

export interface ReleaseScenarioParts {
  readonly cluster: Pick<DevCluster, 'dir' | 'kube' | 'replicas' | 'kill' | 'start'>;
  readonly clock: Clock;
  readonly print: (line: string) => void;
  /** Time from the start to the roll-over, ms. */
  readonly afterMs?: number;
}

const bundleName = 'platform';
const lookEveryMs = 250;

/** Where the replicas read their bundle, as flags for them. The bundle is the first release. */
export function prepareBundle(dir: string): readonly string[] {
  writeBundle(dir, '0.1.0');
  return ['--bundle', join(dir, 'bundle')];
}

/** Begins when the first release is done; replaces each replica once. */
export function startReleaseScenario(parts: ReleaseScenarioParts): DevPart {
  const { cluster, clock, print, afterMs = 20_000 } = parts;
  const stopping = new AbortController();
  const { signal } = stopping;
  const telling = tell(cluster.kube, clock, print, signal);
  const rolling = (async () => {
    await sleep(clock, afterMs, signal);
    await rollOver(parts, '0.2.0', signal);
  })();
  const ended = Promise.all([telling, rolling]).catch((thrown) => {
    if (!signal.aborted) print(`release: ${asError(thrown).message}`);
  });
  return {
    async stop() {
      stopping.abort(new Error('the scenario ends'));
      await ended;
    },
  };
}

async function rollOver(
  { cluster, clock, print }: ReleaseScenarioParts,
  release: string,
  signal: AbortSignal,
): Promise<void> {
  writeBundle(cluster.dir, release);
  print(`release ${release}: the replicas are replaced, one by one`);
  for (const [index, replica] of cluster.replicas.entries()) {
    await cluster.kill(index, 'SIGTERM');
    cluster.start(index);
    if (!(await untilReady(replica, clock, signal)))
      print(`release ${release}: ${replica.name} is not ready`);
  }
}

/** A line for each change of what the Release says. */
async function tell(
  kube: KubePort,
  clock: Clock,
  print: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let told = ''; ; await sleep(clock, lookEveryMs, signal)) {
    const line = await lineOf(kube, signal);
    if (line === null || line === told) continue;
    told = line;
    print(line);
  }
}

async function lineOf(kube: KubePort, signal: AbortSignal): Promise<string | null> {
  try {
    const object = await kube.get(releases, undefined, bundleName, signal);
    const { state, release, leader, waitingFor } = (object.status ?? {}) as Record<
      string,
      string | undefined
    >;
    if (state === undefined) return null;
    const waits = waitingFor === undefined ? '' : `; waits: ${waitingFor}`;
    return `release ${release}: ${state}, ${leader} leads${waits}`;
  } catch (thrown) {
    signal.throwIfAborted();
    // Not created yet, or the API server is away for a moment: there is nothing to report.
    if (hasCode(thrown, 'INVARIANT')) throw thrown;
    return null;
  }
}

function writeBundle(dir: string, release: string): void {
  const folder = join(dir, 'bundle');
  mkdirSync(folder, { recursive: true });
  const head = { name: bundleName, release, minReconcilerRelease: '0.1.0', minServingRelease: release };
  const settings = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'platform-settings', namespace: 'default', labels: { 'orrery.dev/builtin': 'true' } },
    data: { release },
  };
  // JSON is YAML.
  writeFileSync(join(folder, 'bundle.yaml'), JSON.stringify({ ...head, manifests: ['settings.yaml'] }));
  writeFileSync(join(folder, 'settings.yaml'), JSON.stringify(settings));
}
