/**
 * An API server for the tests of rounds: the development one, or the one that KUBECONFIG names; each test has
 * a namespace of its own.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { namespaces } from '../../../packages/dev-cluster/resources.ts';
import { startKubeApi } from '../../../packages/kube-api/server.ts';
import { systemClock } from '../../../src/base/clock.ts';
import type { KubeObject, KubePort } from '../../../src/base/kube-port.ts';
import { silentLog } from '../../../src/base/log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import {
  type Bundle,
  type BundleObject,
  builtinLabel,
  bundleLabel,
  labelled,
} from '../../../src/features/releases/bundle.ts';
import { BundleRound, type RoundParts } from '../../../src/features/releases/bundle-round.ts';
import { type ReleaseWork, startReleaseWork } from '../../../src/features/releases/release-work.ts';
import { connectKube, type KubeConnection } from '../../../src/kube/api/kube-connection.ts';

const basics = { clock: systemClock, random: systemRandom, log: silentLog };
export const signal = new AbortController().signal;
export const builtin = { [builtinLabel]: 'true' };
/** Of the one bundle of a test file; another Orrery has another. */
export const bundleName = `test-${systemRandom
  .id()
  .toLowerCase()
  .replace(/[^a-z0-9]/g, 'x')}`.slice(0, 30);
/** The labels of its objects. */
export const ours = { ...builtin, [bundleLabel]: bundleName };

export const configMaps = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
} as const;

export interface Scene {
  readonly kube: KubeConnection;
  namespace(): Promise<string>;
  /** @param seen instead of the scene's own connection */
  work(bundle: Bundle, seen?: KubePort): { readonly work: ReleaseWork; readonly drift: string[] };
  stop(): Promise<void>;
}

export async function startScene(): Promise<Scene> {
  const undos: Array<() => unknown> = [];
  let kubeconfig = process.env.KUBECONFIG;
  if (kubeconfig === undefined) {
    const dir = mkdtempSync(join(tmpdir(), 'orrery-release-'));
    const api = await startKubeApi(basics);
    kubeconfig = join(dir, 'kubeconfig');
    writeFileSync(kubeconfig, api.kubeconfig());
    undos.push(
      () => rmSync(dir, { recursive: true, force: true }),
      () => api.stop(),
    );
  }
  const kube = connectKube({ ...basics, kubeconfig });
  undos.push(() => kube.close());
  return {
    kube,
    async namespace() {
      const name = `release-${systemRandom
        .id()
        .toLowerCase()
        .replace(/[^a-z0-9]/g, 'x')}`.slice(0, 40);
      await kube.create(namespaces, { metadata: { name: `${name}0` } }, signal);
      undos.push(() => kube.delete(namespaces, undefined, `${name}0`, {}, signal).catch(() => {}));
      return `${name}0`;
    },
    work(bundle, seen = kube) {
      const drift: string[] = [];
      const onDrift = (object: string) => void drift.push(object);
      const work = startReleaseWork({ ...basics, kube: seen, bundle, onDrift });
      undos.push(() => work.stop());
      return { work, drift };
    },
    async stop() {
      for (let undo = undos.pop(); undo; undo = undos.pop()) await undo();
    },
  };
}

export function bundleOf(objects: readonly BundleObject[], release = '0.1.0', id = bundleName): Bundle {
  const kinds = new Map(
    objects.map(({ apiVersion, kind }) => [`${apiVersion} ${kind}`, { apiVersion, kind }]),
  );
  const releases = { release, minReconciler: '0.1.0', minServing: '0.1.0' };
  const labelledObjects = objects.map((object) => labelled(object, id));
  return { name: 'platform', id, ...releases, objects: labelledObjects, kinds: [...kinds.values()] };
}

export const wholeRound = (
  { bundle, ...parts }: Omit<RoundParts, 'isOver'> & { readonly bundle: Bundle },
  ...[kinds, ended]: [Parameters<BundleRound['goOn']>[1], AbortSignal]
) => new BundleRound(bundle).goOn({ ...parts, isOver: () => false }, kinds, ended);

export function configMap(
  namespace: string,
  name: string,
  data: Record<string, string>,
  more: Partial<BundleObject> & { readonly annotations?: Record<string, string> } = {},
): BundleObject {
  const { annotations, ...rest } = more;
  const metadata = { name, namespace, labels: builtin, ...(annotations ? { annotations } : {}) };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data, ...rest };
}

/** An object of an older bundle. */
export const putOurs = ({ kube }: Scene, namespace: string, name: string) =>
  kube.patch(
    configMaps,
    {
      ...{ namespace, name, type: 'apply', fieldManager: 'orrery-release' },
      body: {
        ...configMap(namespace, name, { from: 'before' }),
        metadata: { name, namespace, labels: ours },
      },
    },
    signal,
  );

/** An object of somebody else. */
export const put = ({ kube }: Scene, namespace: string, name: string, labels: Record<string, string>) =>
  kube.create(configMaps, { metadata: { name, namespace, labels }, data: { from: 'elsewhere' } }, signal);

export async function find({ kube }: Scene, namespace: string, name: string): Promise<KubeObject | null> {
  return kube.get(configMaps, namespace, name, signal).catch(() => null);
}
