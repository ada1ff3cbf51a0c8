/** What runs in a replica of a feature's world: its features, the mirrors, and the requests, all real. */

import type { Life, LifeParts } from '../../../packages/testing/replicas/sim-replica.ts';
import type { Chance } from '../../../packages/testing/time/chance.ts';
import { serveControl } from '../../../src/actors/control/control-server.ts';
import { type RunnableEffect, runnerOf, runs } from '../../../src/actors/effect-runner.ts';
import type { Engine } from '../../../src/actors/engine.ts';
import type { FeatureRun } from '../../../src/actors/feature.ts';
import { sendMessage } from '../../../src/actors/host/message-send.ts';
import type { EffectData } from '../../../src/actors/host/step.ts';
import type { Log } from '../../../src/base/log-port.ts';
import { encode } from '../../../src/bus/codec.ts';
import { writeKubeEvent } from '../../../src/kube/effects/kube-event.ts';
import { declaredHoldings, followNamedKinds, type HoldingParts } from '../../../src/kube/mirror/holdings.ts';
import { kubeEventWrite, messageSend } from '../../../src/machines/effects.ts';
import { apiPort } from '../api/api-port.ts';
import type { ApiStage, FeatureWorld } from './feature-world.ts';

type Used = Pick<FeatureWorld, 'uses' | 'releaseOf'>;

export const featureLife =
  (stage: ApiStage, world: Used, chance: Chance, rightly: readonly string[]) =>
  ({ replica, bus, log: whole }: LifeParts): Life => {
    const log = withRightly(whole, rightly);
    const { subjects, shards, api, weather } = stage;
    const { name, process } = replica;
    const { clock } = process;
    const { random } = chance.of(`${name} ${chance.int(0, 1e9)}`);
    const incarnation = random.id();
    const used = world.uses(name);
    const release = world.releaseOf?.(name) ?? '1.0.0';
    const kube = apiPort({ api, clock: stage.clock, process, weather, by: name });
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
      ...{ features, bus, subjects, kube, clock, random, log, encode },
      namespaces: null,
      world: {
        entries: (resource) => engine.world.entries(resource),
        onChange: (callback) => engine.world.onChange(callback),
        ready: (_resource, sequence) => engine.world.reached(sequence),
      },
      keepers: Object.assign({}, ...running.map(({ keepers }) => keepers ?? {})),
      metrics: { watchRestarts() {}, worldLag() {} },
    });
    return {
      release,
      incarnation,
      features,
      start(engine) {
        const parts = { bus, subjects, kube, clock, random, log, metrics, incarnation, release };
        running = used.map(({ start }) => start({ ...parts, engine, replica: name }));
        return running;
      },
      runEffect(data, run) {
        const { key, actor } = run;
        const effect = data as EffectData;
        stage.see({ kind: 'effect', replica: name, key, actor, effect, mutedAt: replica.mutedAt });
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

/** What a replica rightly complains of in its world is a warning. */
function withRightly(log: Log, rightly: readonly string[]): Log {
  const isRight = (message: string) => rightly.some((begin) => message.startsWith(begin));
  return {
    ...log,
    error: (facts, message) => (isRight(message) ? log.warn(facts, message) : log.error(facts, message)),
  };
}
