/** What happens in the world of RouteGates: to gates, to Pods, to Services and on the way between them. */
import { pods, routeGates } from '../../../src/features/routes/resources.ts';
import { services } from '../../../src/kube/api/resources.ts';
import { endAll } from '../api/ending.ts';
import type { WorldParts } from '../features/feature-world.ts';
import {
  conditionTypes,
  drawnGates,
  gatesOf,
  groupOf,
  hasProbedPort,
  ipOf,
  isHolding,
  makeGate,
  makePod,
  makeService,
  namespace,
  setStatus,
} from './gate-objects.ts';
import { oddAnswers } from './gate-routing.ts';
import type { GateScene } from './gate-world.ts';

type Action = readonly [name: string, act: () => string | null];

/** 'addresses given' is always among them: it heals what waits for an address. */
export function gateActions(parts: WorldParts, scene: GateScene): readonly Action[] {
  const { chance } = parts;
  const all: readonly Action[] = [
    ...gateChanges(parts),
    ...serviceChanges(parts, scene),
    ...podChanges(parts, scene),
    ['status overwritten', () => overwritten(parts)],
    ['namespace deleted', () => namespaceEnds(parts, scene)],
  ];
  return all.filter(([name]) => name === 'addresses given' || chance.happens(0.7));
}

function gateChanges(parts: WorldParts): readonly Action[] {
  const { stage, chance } = parts;
  const { api, clock } = stage;
  const any = () => chance.pick(api.all(routeGates));
  const edit = (change: object) => {
    const found = any();
    if (!found) return null;
    api.patch(routeGates, { namespace, name: found.metadata.name, type: 'merge', body: { spec: change } });
    return found.metadata.name;
  };
  return [
    ['gate edited', () => edit({ probe: { attemptsPerReplica: chance.int(1, 4) } })],
    ['gate broken', () => edit({ conditionType: '' })],
    ['gate mended', () => edit({ conditionType: chance.pick(conditionTypes) })],
    ['gate of another type', () => edit({ conditionType: chance.pick(conditionTypes) })],
    [
      'gate holds what cannot be verified',
      () => {
        const name = edit({ whenUnverifiable: 'hold' });
        clock.after(chance.happens(0.3) ? 120_000 : chance.seldomLong(500, 20_000), () => letPass(api));
        return name;
      },
    ],
    ['gate withdraws or keeps', () => edit({ whenRouteIsLost: chance.pick(['withdraw', 'keep']) })],
    ['gate of two minds', () => changesItsMind(parts)],
    [
      'gate made anew',
      () => {
        const name = any()?.metadata.name;
        if (name === undefined) return null;
        api.remove(routeGates, namespace, name);
        clock.after(chance.seldomLong(10, 4_000), () => {
          if (api.find(routeGates, namespace, name) === null) makeGate(api, name);
        });
        return name;
      },
    ],
    [
      'second gate',
      () => {
        const isThere = api.find(routeGates, namespace, 'web-2') !== null;
        if (isThere) api.remove(routeGates, namespace, 'web-2');
        else makeGate(api, 'web-2', { conditionType: chance.pick(conditionTypes) });
        return isThere ? 'removed' : 'made';
      },
    ],
  ];
}

/** It withdraws and keeps, in turns, faster than what follows from it. */
function changesItsMind({ stage: { api, clock }, chance }: WorldParts): string | null {
  const found = chance.pick(api.all(routeGates));
  if (!found) return null;
  const { name, uid } = found.metadata;
  for (let n = 0; n < 4; n++)
    clock.after(n * chance.seldomLong(0, 1_500), () => {
      if (api.find(routeGates, namespace, name)?.metadata.uid !== uid) return;
      const body = { spec: { whenRouteIsLost: n % 2 === 0 ? 'withdraw' : 'keep' } };
      api.patch(routeGates, { namespace, name, type: 'merge', body });
    });
  return name;
}

/** From now on no RouteGate holds what cannot be verified. */
export function letPass(api: WorldParts['stage']['api']): void {
  const body = { spec: { whenUnverifiable: 'pass' } };
  for (const gate of api.all(routeGates).filter(isHolding))
    api.patch(routeGates, { namespace, name: gate.metadata.name, type: 'merge', body });
}

/** As a former owner's request does that is served late, or somebody by hand. */
function overwritten({ stage: { api }, chance }: WorldParts): string | null {
  const found = chance.pick(api.all(routeGates));
  if (!found) return null;
  const { name } = found.metadata;
  const body = { status: { pods: 9, waiting: 0, ready: 9 } };
  api.patch(routeGates, { namespace, name, type: 'merge', body, subresource: 'status' });
  return name;
}

/** As Kubernetes does it: everything goes, in any order; later there is all of it again. */
function namespaceEnds({ stage, chance }: WorldParts, { makeAll }: GateScene): string {
  const goneMs = endAll(stage, chance, [pods, services, routeGates]);
  stage.clock.after(goneMs + chance.seldomLong(10, 8_000), makeAll);
  return namespace;
}

function serviceChanges({ stage, chance }: WorldParts, { routing }: GateScene): readonly Action[] {
  const { api, clock } = stage;
  const any = () => chance.pick(api.all(services));
  let made = 0;
  return [
    [
      'service added',
      () => {
        if (api.all(services).length > 4) return null;
        const name = `more-${made++}`;
        makeService(api, name, chance.pick(['a', 'b']) ?? 'a', chance.happens(0.8));
        return name;
      },
    ],
    [
      'service removed',
      () => {
        const found = any();
        if (found) api.remove(services, namespace, found.metadata.name);
        return found?.metadata.name ?? null;
      },
    ],
    [
      'port moved',
      () => {
        const found = any();
        if (!found) return null;
        const { name } = found.metadata;
        const ports = [{ name: hasProbedPort(found) ? 'other' : 'health', port: 80, protocol: 'TCP' }];
        api.patch(services, { namespace, name, type: 'merge', body: { spec: { ports } } });
        return name;
      },
    ],
    [
      'odd answers',
      () => {
        const name = any()?.metadata.name;
        const answer = chance.pick(oddAnswers);
        if (name === undefined || answer === undefined) return null;
        routing.odd.set(name, answer);
        clock.after(chance.seldomLong(500, 20_000), () => void routing.odd.delete(name));
        return `${name} ${JSON.stringify(answer)}`;
      },
    ],
    [
      'calls swallowed',
      () => {
        const name = any()?.metadata.name;
        if (name === undefined) return null;
        routing.blackHoled.add(name);
        clock.after(chance.seldomLong(500, 15_000), () => void routing.blackHoled.delete(name));
        return name;
      },
    ],
  ];
}

function podChanges({ stage, chance }: WorldParts, { freshIp }: GateScene): readonly Action[] {
  const { api, clock } = stage;
  const any = () => chance.pick(api.all(pods));
  let made = 0;
  return [
    [
      'pod added',
      () => {
        if (api.all(pods).length > 6) return null;
        const name = `extra-${made++}`;
        const ip = chance.happens(0.6) ? freshIp() : null;
        makePod(api, name, { group: chance.pick(['a', 'b']) ?? 'a', ip, gates: drawnGates(chance) });
        return name;
      },
    ],
    [
      'addresses given',
      () => {
        for (const pod of api.all(pods))
          if (ipOf(pod) === null) setStatus(api, pod.metadata.name, { podIPs: [{ ip: freshIp() }] });
        return 'to whoever lacks one';
      },
    ],
    [
      'pod replaced',
      () => {
        const found = any();
        if (!found) return null;
        const { name } = found.metadata;
        const [group, gates] = [groupOf(found), gatesOf(found)];
        api.remove(pods, namespace, name);
        clock.after(chance.seldomLong(10, 2_000), () => {
          if (api.find(pods, namespace, name) === null) makePod(api, name, { group, ip: freshIp(), gates });
        });
        return name;
      },
    ],
    [
      'pod failed',
      () => {
        const found = any();
        if (found) setStatus(api, found.metadata.name, { phase: 'Failed' });
        return found?.metadata.name ?? null;
      },
    ],
    [
      'condition taken back',
      () => {
        const found = any();
        const type = found && chance.pick(gatesOf(found));
        if (!found || type === undefined) return null;
        setStatus(api, found.metadata.name, {
          conditions: [{ type, status: 'False', reason: 'Somebody' }],
        });
        return found.metadata.name;
      },
    ],
  ];
}
