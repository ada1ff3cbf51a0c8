/**
 * The world of releases: replicas that are rolled from one release to the next and back, each with a bundle
 * of settings; applies that are denied, objects of others under the same names, and drift.
 */
import type { SimReplica } from '../../../packages/testing/replicas/sim-replica.ts';
import type { Chance } from '../../../packages/testing/time/chance.ts';
import type { StartFeature } from '../../../src/actors/feature.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeObject, KubeResource } from '../../../src/base/kube-port.ts';
import { type Bundle, builtinLabel, bundleLabel, labelled } from '../../../src/features/releases/bundle.ts';
import { releases as feature } from '../../../src/features/releases/feature.ts';
import { releases } from '../../../src/features/releases/resources.ts';
import { startReleases } from '../../../src/features/releases/start.ts';
import { coreResource } from '../../../src/kube/api/resources.ts';
import type { FeatureSimulation, FeatureWorld, WorldParts } from '../features/feature-world.ts';
import { onlyOurs } from './checkers/only-ours.ts';
import { nobodyServes, type RunningReplica, releaseStatus } from './release-status.ts';
import { blockedObjects, unsettledRelease } from './settled-release.ts';

export const configMaps: KubeResource = coreResource('configmaps', 'ConfigMap');
export const namespace = 'default';
export const bundleId = 'sim.platform';
/** Somebody's object that has the label of the bundle. */
export const forgedName = 'forged';
const versions = ['0.1.0', '0.2.0', '0.3.0'] as const;
const names = ['settings', 'limits', 'words'] as const;

export const releaseSimulation: FeatureSimulation = {
  name: 'releases',
  kinds: [configMaps, releases],
  rightly: ['a round of reconciliation failed'],
  // A failed round is repeated within a minute; a leader that cannot write looks again.
  restMs: 300_000,
  create: createReleases,
};

export interface ReleaseScene {
  /** By engine of a replica: its bundle; null: it was started without. */
  readonly running: WeakMap<object, Bundle | null>;
}

/** The later the release, the fewer objects: what a later one lacks has to be pruned. */
function bundleOf(release: string, index: number, isBreaking: boolean): Bundle {
  const objects = names.slice(0, names.length - index).map((name) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace, labels: { [builtinLabel]: 'true' } },
    data: { release },
  }));
  return {
    name: 'platform',
    id: bundleId,
    release,
    minReconciler: '0.1.0',
    minServing: isBreaking ? release : '0.1.0',
    objects: objects.map((one) => labelled(one, bundleId)),
    kinds: [{ apiVersion: 'v1', kind: 'ConfigMap' }],
  };
}

function createReleases(parts: WorldParts): FeatureWorld {
  const { stage, chance, say, replicas } = parts;
  const { api } = stage;
  const isBreaking = chance.happens(0.3);
  const bundles = versions.map((release, index) => bundleOf(release, index, isBreaking));
  const scene: ReleaseScene = { running: new WeakMap() };
  /** By replica: what it was started with last. */
  const started = new Map<string, Bundle | null>();
  /** The release that is being rolled out. */
  let wanted = chance.int(0, 1);
  const isForgotten = forgottenFlags(chance.of('flags'));
  const actions = releaseActions(parts, (index) => {
    wanted = index;
  }).filter(() => chance.happens(0.7));
  return {
    uses(replica) {
      const bundle = isForgotten(replica) ? null : (bundles[wanted] ?? null);
      started.set(replica, bundle);
      const settings = { bundle, release: bundle?.release ?? versions[0] };
      const start: StartFeature = (given) => {
        scene.running.set(given.engine, bundle);
        return startReleases(settings)(given);
      };
      return [{ feature: feature(settings), start }];
    },
    releaseOf: (replica) => started.get(replica)?.release ?? versions[0],
    checkers: [onlyOurs(stage, () => stage.kubeErrors > 0 || stage.weather.hanging > 0)],
    statuses: [releaseStatus(() => runningIn(scene, replicas()))],
    begin: () => createOthers(stage, chance),
    act() {
      const action = chance.pick(actions);
      const what = action?.[1]();
      if (what) say(`${action?.[0]}: ${what}`);
    },
    heal() {
      api.refuse = () => null;
    },
    // Foreign objects are in the way of every round, and replicas that are incompatible with the next state
    // go first.
    mayWait: (_id, { snapshot }) =>
      blockedObjects(stage, bundles[0]).length > 0 ||
      /waitingForNodes|heldUp/.test(JSON.stringify(snapshot.value)),
    // A replica that is incompatible with the written state may not serve. Another state is written only by a
    // round that succeeds, not while something foreign is in the way, and after a roll back not before the
    // replicas have gone that are older than its leader.
    isClosed: () =>
      blockedObjects(stage, bundles[0]).length > 0 || nobodyServes(stage, runningIn(scene, replicas())),
    unsettled: () => unsettledRelease(stage, runningIn(scene, replicas())),
  };
}

/** Somebody forgets a flag; such a replica has the release of the program, the oldest. One always leads. */
function forgottenFlags(chance: Chance): (replica: string) => boolean {
  const isForgetful = chance.happens(0.3);
  return (replica) => isForgetful && replica !== 'r0' && chance.happens(0.3);
}

const runningIn = ({ running }: ReleaseScene, replicas: readonly SimReplica[]): readonly RunningReplica[] =>
  replicas.map(({ name, engine }) => {
    const bundle = running.get(engine) ?? null;
    return { name, bundle, release: bundle?.release ?? versions[0] };
  });

/** Objects of others: one under a name of the bundle, one of another bundle, one that has our label. */
function createOthers({ api }: WorldParts['stage'], chance: WorldParts['chance']): void {
  if (chance.happens(0.5) && api.find(configMaps, namespace, 'limits') === null)
    api.create(configMaps, { metadata: { namespace, name: 'limits' }, data: { of: 'somebody' } });
  const labels = { [bundleLabel]: 'other.platform', [builtinLabel]: 'true' };
  api.create(configMaps, { metadata: { namespace, name: 'theirs', labels } });
  const ours = { [bundleLabel]: bundleId, [builtinLabel]: 'true' };
  api.create(configMaps, { metadata: { namespace, name: forgedName, labels: ours } });
  api.create(configMaps, { metadata: { namespace, name: 'plain', labels: { [builtinLabel]: 'true' } } });
}

type Action = readonly [name: string, act: () => string | null];

function releaseActions({ stage, chance }: WorldParts, rollTo: (index: number) => void): readonly Action[] {
  const { api, clock } = stage;
  const ours = () =>
    chance.pick(
      api
        .all(configMaps)
        .filter(
          ({ metadata: { name, labels } }) => labels?.[bundleLabel] === bundleId && name !== forgedName,
        ),
    );
  return [
    [
      'rolled to',
      () => {
        const index = chance.int(0, versions.length - 1);
        rollTo(index);
        return versions[index] ?? null;
      },
    ],
    [
      'denied',
      () => {
        const name = chance.pick(names);
        const refusal = new OrreryError('KUBE_REFUSED', 'denied by a policy', { facts: { status: 403 } });
        api.refuse = ({ resource, by, after }) =>
          resource.plural === 'configmaps' && by !== 'world' && after?.metadata.name === name
            ? refusal
            : null;
        clock.after(chance.seldomLong(500, 15_000), () => {
          api.refuse = () => null;
        });
        return name ?? null;
      },
    ],
    [
      'drift',
      () => {
        const found = ours();
        if (!found) return null;
        const body = { data: { release: 'somebody else’s' } };
        api.patch(configMaps, { namespace, name: found.metadata.name, type: 'merge', body });
        return found.metadata.name;
      },
    ],
    [
      'deleted',
      () => {
        const found = ours();
        if (found) api.remove(configMaps, namespace, found.metadata.name);
        return found?.metadata.name ?? null;
      },
    ],
    ...takings({ stage, chance }, ours),
  ];
}

/** For a while an object of ours belongs to another bundle. */
function takings(
  { stage, chance }: Pick<WorldParts, 'stage' | 'chance'>,
  ours: () => KubeObject | undefined,
): readonly Action[] {
  const { api, clock } = stage;
  return [
    [
      'taken by another bundle',
      () => {
        const found = ours();
        if (!found) return null;
        const body = { metadata: { labels: { [bundleLabel]: 'other.platform' } } };
        api.patch(configMaps, { namespace, name: found.metadata.name, type: 'merge', body });
        clock.after(chance.seldomLong(100, 6_000), () => {
          if (api.find(configMaps, namespace, found.metadata.name) !== null)
            api.remove(configMaps, namespace, found.metadata.name);
        });
        return found.metadata.name;
      },
    ],
  ];
}
