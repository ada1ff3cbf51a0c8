/**
 * The world of endpoints: Services with selectors and programs outside of the cluster that they match, which
 * come, go and change; somebody who meddles with the slices, and an API server that refuses some of them.
 */
import { runs } from '../../../src/actors/effect-runner.ts';
import type { StartFeature } from '../../../src/actors/feature.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeObject } from '../../../src/base/kube-port.ts';
import { endpoints } from '../../../src/features/endpoints/feature.ts';
import { externalWorkloads } from '../../../src/features/endpoints/resources.ts';
import { managedBy, managedByLabel, serviceNameLabel } from '../../../src/features/endpoints/slice-labels.ts';
import { type EndpointsSettings, startEndpoints } from '../../../src/features/endpoints/start.ts';
import { endpointSlices, services } from '../../../src/kube/api/resources.ts';
import { workloadProbe } from '../../../src/machines/workload/workload-effects.ts';
import type { SeenApi } from '../api/seen-api.ts';
import { type ActorLife, idsOf } from '../checkers/lives-as-its-object.ts';
import type { ActingParts, FeatureSimulation, FeatureWorld } from '../features/feature-world.ts';
import { asWanted } from './checkers/as-wanted.ts';
import { neverMissing } from './checkers/never-missing.ts';
import { othersSlices } from './checkers/others-slices.ts';
import { probedReady, unsettledProbes } from './checkers/probed-ready.ts';
import { type LinkerdController, linkerd, linkerdController } from './linkerd-controller.ts';
import { createPrograms, type Programs, readyOf } from './probed-programs.ts';
import { unsettledSlices } from './settled-slices.ts';
import { type Action, uncommonActions } from './uncommon-actions.ts';
import { matches } from './wanted-endpoints.ts';

export const namespace = 'shop';
export const workloadPort = 8080;
const endpointsPerSlice = 3;
const apps = ['a', 'b'] as const;

export const endpointSimulation: FeatureSimulation = {
  name: 'endpoints',
  kinds: [services, endpointSlices, externalWorkloads],
  // What fails fifteen times is tried every three to four minutes.
  restMs: 400_000,
  create(parts) {
    const programs = createPrograms({ ...parts, chance: parts.chance.of('programs') });
    const world = createEndpoints(parts, programs);
    const own = [asWanted(parts.stage), probedReady(parts.stage, programs)];
    return { ...world, checkers: [...world.checkers, ...own] };
  },
};

/** @param programs whom probes call; absent: no workload asks to be probed */
export function createEndpoints(parts: ActingParts, programs?: Programs): FeatureWorld {
  const { stage, chance, say } = parts;
  const { api, clock } = stage;
  // A real API server gives addresses to Services, and has controllers of its own.
  const isSimulated = api.refuse !== undefined;
  const beside = isSimulated
    ? (chance.pick(['nobody', 'nobody', 'beside', 'takenOver']) ?? 'nobody')
    : 'nobody';
  const other = linkerdController(parts, namespace);
  const takeOver = beside === 'takenOver' ? linkerd : null;
  const writers = takeOver === null ? [managedBy] : [managedBy, takeOver];
  const actions = [
    ...(takeOver === null ? [] : linkerdReturns(parts, other)),
    ...workloadActions(parts),
    ...serviceActions(parts),
    ...meddling(parts),
    ...denials(parts),
    ...(programs?.actions ?? []),
    ...uncommonActions(parts, {
      namespace,
      makeAll: () => makeAll(parts),
      makeWorkload: (name, app) => makeWorkload(parts, name, app),
    }),
  ].filter(() => chance.happens(0.6));
  const settings = { endpointsPerSlice, takeOver };
  const use = { feature: endpoints(settings), start: startWith(settings, programs) };
  return {
    uses: () => [use],
    // A real API server does not say who wrote.
    checkers: [neverMissing(stage, writers), ...(isSimulated ? [othersSlices(stage, writers)] : [])],
    lives: livesIn(api, writers),
    begin() {
      makeAll(parts);
      programs?.begin();
      if (beside === 'nobody') return;
      other.start();
      // The other controller is stopped before Orrery takes over (§7.2).
      if (beside === 'takenOver') clock.after(3_000, () => other.stop());
    },
    act() {
      const action = chance.pick(actions);
      const what = action?.[1]();
      if (what) say(`${action?.[0]}: ${what}`);
    },
    heal() {
      if (takeOver !== null) other.stop();
      programs?.heal();
      if (api.refuse) api.refuse = () => null;
    },
    unsettled: () => [
      ...unsettledSlices(stage, takeOver ?? undefined),
      ...(programs === undefined ? [] : unsettledProbes(stage, programs)),
    ],
  };
}

/** The feature, whose probes call these programs. */
function startWith(settings: EndpointsSettings, programs: Programs | undefined): StartFeature {
  const start = startEndpoints(settings);
  if (programs === undefined) return start;
  return (given) => {
    const run = start(given);
    const probe = runs(workloadProbe, programs.runner(given.clock));
    return { ...run, effects: [...(run.effects ?? []).filter(({ type }) => type !== probe.type), probe] };
  };
}

const livesIn = (api: SeenApi, writers: readonly string[]): readonly ActorLife[] => [
  {
    kind: 'service',
    objects: () => idsOf('service', api.all(services).filter(isConcerned(api, writers))),
  },
  // Those alone that are probed have one.
  { kind: 'workload', objects: () => idsOf('workload', api.all(externalWorkloads)), isSparse: true },
];

/** A Service has an actor while a workload matches it, and until our last slice of it has gone. */
const isConcerned = (api: SeenApi, writers: readonly string[]) => (service: KubeObject) =>
  api.all(externalWorkloads).some((workload) => matches(service, workload)) ||
  api
    .all(endpointSlices)
    .some(
      ({ metadata: { labels } }) =>
        labels?.[serviceNameLabel] === service.metadata.name &&
        writers.includes(labels[managedByLabel] ?? ''),
    );

/** Somebody starts the other controller again, for a while. */
const linkerdReturns = ({ stage, chance }: ActingParts, other: LinkerdController): readonly Action[] => [
  [
    'linkerd returns',
    () => {
      other.start();
      stage.clock.after(chance.seldomLong(500, 10_000), () => other.stop());
      return 'for a while';
    },
  ],
];

/** What is there already stays. */
function makeAll(parts: ActingParts): void {
  const { stage, chance } = parts;
  for (const app of apps) {
    if (stage.api.find(services, namespace, `svc-${app}`) === null) makeService(parts, `svc-${app}`, app);
    for (let n = 0; n < chance.int(1, 6); n++)
      if (stage.api.find(externalWorkloads, namespace, `${app}-${n}`) === null)
        makeWorkload(parts, `${app}-${n}`, app);
  }
}

function makeService({ stage, chance }: ActingParts, name: string, app: string): void {
  const ipFamilies = chance.happens(0.7) ? ['IPv4'] : ['IPv4', 'IPv6'];
  const isHeadless = stage.api.refuse !== undefined && chance.happens(0.2);
  const hasPorts = !isHeadless || chance.happens(0.7);
  const spec = {
    selector: { app },
    clusterIP: isHeadless ? 'None' : '10.1.0.1',
    ipFamilies,
    publishNotReadyAddresses: chance.happens(0.2),
    ports: hasPorts ? [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 'http' }] : [],
  };
  stage.api.create(services, { metadata: { namespace, name, labels: { team: 'one' } }, spec });
}

function makeWorkload({ stage, chance }: ActingParts, name: string, app: string): void {
  const { api } = stage;
  const number = chance.int(1, 60_000);
  const workloadIPs = [{ ip: `10.9.${number >> 8}.${number & 255}` }];
  if (chance.happens(0.4)) workloadIPs.push({ ip: `fd00::${number.toString(16)}` });
  const ports = [{ name: 'http', port: workloadPort }];
  api.create(externalWorkloads, {
    metadata: { namespace, name, labels: { app } },
    spec: { workloadIPs, ports },
  });
  setReady(api, name, chance.happens(0.7));
}

function setReady(api: ActingParts['stage']['api'], name: string, isReady: boolean): void {
  const status = { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] };
  const patch = { namespace, name, type: 'merge', body: { status }, subresource: 'status' };
  api.patch(externalWorkloads, patch);
}

const isReady = (workload: KubeObject) => readyOf(workload) === 'True';

/** @returns the name of what was patched; null where there was nothing */
function edited(
  api: ActingParts['stage']['api'],
  resource: typeof services,
  found: KubeObject | undefined,
  body: object,
): string | null {
  if (!found) return null;
  api.patch(resource, { namespace, name: found.metadata.name, type: 'merge', body });
  return found.metadata.name;
}

function workloadActions(parts: ActingParts): readonly Action[] {
  const { stage, chance } = parts;
  const { api } = stage;
  const any = () => chance.pick(api.all(externalWorkloads));
  let made = 0;
  const edit = (body: object) => edited(api, externalWorkloads, any(), body);
  return [
    [
      'flip',
      () => {
        const found = any();
        if (!found) return null;
        setReady(api, found.metadata.name, !isReady(found));
        return found.metadata.name;
      },
    ],
    [
      'workload added',
      () => {
        const name = `more-${made++}`;
        if (api.all(externalWorkloads).length > 14) return null;
        makeWorkload(parts, name, chance.pick(apps) ?? 'a');
        return name;
      },
    ],
    [
      'workload removed',
      () => {
        const found = any();
        if (found) api.remove(externalWorkloads, namespace, found.metadata.name);
        return found?.metadata.name ?? null;
      },
    ],
    ['workload moved', () => edit({ metadata: { labels: { app: chance.pick([...apps, 'none']) } } })],
    ['address changed', () => edit({ spec: { workloadIPs: [{ ip: `10.8.0.${chance.int(1, 250)}` }] } })],
    ['address broken', () => edit({ spec: { workloadIPs: [{ ip: '127.0.0.1' }] } })],
    ['port changed', () => edit({ spec: { ports: [{ name: 'http', port: chance.int(8_080, 8_082) }] } })],
  ];
}

function serviceActions(parts: ActingParts): readonly Action[] {
  const { stage, chance } = parts;
  const { api, clock } = stage;
  const any = () => chance.pick(api.all(services));
  const edit = (body: object) => edited(api, services, any(), body);
  return [
    [
      'service made anew',
      () => {
        const found = any();
        if (!found || found.metadata.deletionTimestamp !== undefined) return null;
        const { name } = found.metadata;
        const { app = 'a' } = (found.spec as { selector?: { app?: string } }).selector ?? {};
        api.remove(services, namespace, name);
        clock.after(chance.seldomLong(0, 3_000), () => {
          if (api.find(services, namespace, name) === null) makeService(parts, name, app);
        });
        return name;
      },
    ],
    ['selector changed', () => edit({ spec: { selector: { app: chance.pick(apps) } } })],
    ['label changed', () => edit({ metadata: { labels: { team: chance.pick(['one', 'two']) } } })],
    ['not ready published', () => edit({ spec: { publishNotReadyAddresses: chance.happens(0.5) } })],
  ];
}

/** Somebody who writes to slices. */
function meddling({ stage, chance }: ActingParts): readonly Action[] {
  const { api } = stage;
  const any = () => chance.pick(api.all(endpointSlices));
  return [
    [
      'slice deleted',
      () => {
        const found = any();
        if (found) api.remove(endpointSlices, namespace, found.metadata.name);
        return found?.metadata.name ?? null;
      },
    ],
    [
      'slice emptied',
      () => {
        const found = any();
        if (!found) return null;
        api.patch(endpointSlices, {
          namespace,
          name: found.metadata.name,
          type: 'merge',
          body: { endpoints: [] },
        });
        return found.metadata.name;
      },
    ],
    [
      'slice taken',
      () => {
        const found = chance.pick(
          api.all(endpointSlices).filter(({ metadata }) => metadata.labels?.[managedByLabel] === managedBy),
        );
        if (!found) return null;
        const body = { metadata: { labels: { [managedByLabel]: 'somebody' } } };
        api.patch(endpointSlices, { namespace, name: found.metadata.name, type: 'merge', body });
        return found.metadata.name;
      },
    ],
  ];
}

/** An API server that does not take ours. */
function denials({ stage, chance }: ActingParts): readonly Action[] {
  const { api, clock } = stage;
  if (api.refuse === undefined) return [];
  return [
    [
      'writes denied',
      () => {
        const refusal = new OrreryError('KUBE_REFUSED', 'denied by a webhook', { facts: { status: 403 } });
        api.refuse = ({ resource, by }) =>
          resource.plural === 'endpointslices' && by !== 'world' && chance.happens(0.7) ? refusal : null;
        clock.after(chance.seldomLong(200, 8_000), () => {
          api.refuse = () => null;
        });
        return 'by a webhook';
      },
    ],
  ];
}
