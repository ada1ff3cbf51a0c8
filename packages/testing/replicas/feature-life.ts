/**
 * What runs in a simulated replica with features: the features, the mirrors of what they watch, and the
 * requests, all real. Only the way to Kubernetes differs.
 */
import { serveControl } from '../../../src/actors/control/control-server.ts';
import { type RunnableEffect, runnerOf, runs } from '../../../src/actors/effect-runner.ts';
import type { Engine } from '../../../src/actors/engine.ts';
import type { Feature, FeatureParts, FeatureRun, StartFeature } from '../../../src/actors/feature.ts';
import { sendMessage } from '../../../src/actors/host/message-send.ts';
import type { EffectData } from '../../../src/actors/host/step.ts';
import type { KubePort } from '../../../src/base/kube-port.ts';
import type { Random } from '../../../src/base/random.ts';
import { encode } from '../../../src/bus/codec.ts';
import { writeKubeEvent } from '../../../src/kube/effects/kube-event.ts';
import { declaredHoldings, followNamedKinds, type HoldingParts } from '../../../src/kube/mirror/holdings.ts';
import { kubeEventWrite, messageSend } from '../../../src/machines/effects.ts';
import type { Stage } from '../simulation/stage.ts';
import type { Life, LifeParts } from './sim-replica.ts';

/** A feature that is already loaded, so that creating a replica waits for nothing. */
export interface LoadedFeature {
  readonly feature: Feature;
  readonly start: StartFeature;
}

export async function loaded(features: readonly Feature[]): Promise<readonly LoadedFeature[]> {
  return Promise.all(features.map(async (feature) => ({ feature, start: await feature.load() })));
}

export interface FeatureLife {
  readonly stage: Stage;
  readonly features: readonly LoadedFeature[];
  /** Source of a replica's ids and small delays, by its name. */
  readonly random: (replica: string) => Random;
  /** The API server as this replica's process reaches it. */
  readonly kube: (parts: LifeParts) => KubePort;
  readonly release?: string;
  readonly fetch?: FeatureParts['fetch'];
  /** Called with each effect before it runs. */
  readonly onEffect?: (
    effect: EffectData,
    context: { readonly key: string; readonly replica: string },
  ) => void;
}

export const featureLife =
  (life: FeatureLife) =>
  (parts: LifeParts): Life => {
    const { stage, release = '1.0.0', features: used } = life;
    const { replica, bus, log } = parts;
    const { subjects, shards } = stage;
    const { name, process } = replica;
    const { clock } = process;
    const random = life.random(name);
    const incarnation = random.id();
    const kube = life.kube(parts);
    const features = used.map(({ feature }) => feature);
    const metrics = { count() {}, observe() {} };
    let running: readonly FeatureRun[] = [];
    let runner: RunnableEffect['run'] | undefined;
    const own = [
      runs(
        messageSend,
        sendMessage(bus, subjects, () => replica.engine.hearsEarlier(), shards),
      ),
      runs(kubeEventWrite, writeKubeEvent(kube, { replica: name })),
    ];
    const mirrors = (engine: Engine): HoldingParts => ({
      ...{ features, bus, subjects, kube, clock, random, log, encode, namespaces: null },
      world: {
        entries: (resource) => engine.world.entries(resource),
        onChange: (callback) => engine.world.onChange(callback),
        ready: (_resource, sequence) => engine.pictured(sequence),
      },
      keepers: Object.assign({}, ...running.map(({ keepers }) => keepers ?? {})),
      metrics: { watchRestarts() {}, worldLag() {} },
    });
    return {
      release,
      incarnation,
      features,
      start(engine) {
        const ports = { bus, subjects, kube, clock, random, log, metrics, incarnation, release };
        const more = life.fetch === undefined ? {} : { fetch: life.fetch };
        running = used.map(({ start }) => start({ ...ports, ...more, engine, replica: name }));
        return running;
      },
      runEffect(data, run) {
        const { key, actor } = run;
        const effect = data as EffectData;
        stage.see({ kind: 'effect', replica: name, key, actor, effect, mutedAt: replica.mutedAt });
        life.onEffect?.(effect, { key, replica: name });
        runner ??= runnerOf([...own, ...running.flatMap(({ effects }) => effects ?? [])]);
        return runner(data, run);
      },
      holdings: (engine) => declaredHoldings(mirrors(engine), () => engine.ownership),
      started(engine) {
        followNamedKinds(mirrors(engine), engine.ownership);
        const requests = running.flatMap((one) => one.requests ?? []);
        serveControl({ engine, bus, subjects, clock, replica: name, release, requests });
      },
    };
  };
