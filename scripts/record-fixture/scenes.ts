/**
 * Brings actors of every kind into as many states as can really be reached. Besides the ordinary load there
 * are Pods that cannot be proven, authorities that refuse, Leases of others, an API server that is away for a
 * while, and replicas that are killed and replaced.
 *
 * Nothing is invented: every record comes from a replica that took real steps.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Pebble, startPebble } from '../../test/features/certificates/pebble.ts';
import {
  type ActorId,
  clock,
  domains,
  elections,
  encodeJson,
  externalWorkloads,
  issuers,
  type KubeObject,
  type KubeResource,
  leases,
  namespaces,
  nodes,
  pods,
  routeGates,
  secrets,
  services,
  sleep,
  subjectsOf,
} from '../roll-over/product.ts';
import { clusterName, type RunningReplica, type Stage } from '../roll-over/stage.ts';

const namespace = 'scenes';
const { signal } = new AbortController();
const base64 = (value: string) => Buffer.from(value).toString('base64');

export async function playScenes(
  stage: Stage,
  replicas: RunningReplica[],
  print: (line: string) => void,
): Promise<void> {
  const pebble = await startPebble({ sleepSeconds: 2 });
  try {
    pebble.answerers = replicas.map(({ acmeUrl }) => acmeUrl);
    const make = (resource: KubeResource, object: KubeObject) =>
      stage.cluster.kube
        .create(resource, object, signal)
        .catch((error: Error) => print(`scenes: ${error.message}`));
    await make(namespaces, { metadata: { name: namespace } });
    await gatedPods(make);
    await outsiders(make);
    await contests(make);
    await certificates(make, pebble);
    await proxiedNodes(make);
    for (const type of ['proxier.updated', 'proxier.queued'])
      await say(stage, 'proxier/_/late', { type, family: 'IPv6' });
    await changes(stage, replicas, pebble, print);
  } finally {
    await pebble.stop();
  }
}

/** Sends a message to an actor. */
function say({ bus }: Stage, id: ActorId, event: object): Promise<unknown> {
  return bus.append(subjectsOf(clusterName).send(id), encodeJson(event));
}

type Make = (resource: KubeResource, object: KubeObject) => Promise<unknown>;

// A Service belongs to the first gate that selects it, so each gate selects its own.
const entry = (name: string) => ({ 'scenes.example.com/entry': name });
const group = 'scenes.example.com/group';

async function gates(make: Make): Promise<void> {
  for (const [name, more] of [
    ['keep', {}],
    ['watch', { whenRouteIsLost: 'withdraw' }],
    ['old', {}],
    ['owned', { groupResource: owner }],
  ] as const) {
    await make(routeGates, {
      metadata: { name, namespace },
      spec: {
        conditionType: `scenes.example.com/${name}`,
        podSelector: { matchLabels: { gate: name } },
        group: { podLabel: group, serviceLabel: group },
        serviceSelector: { matchLabels: entry(name) },
        probe: { portName: 'health', path: '/healthz', address: 'clusterIP' },
        ...more,
      },
    });
  }
  for (const name of ['keep', 'watch', 'old', 'owned']) {
    await make(services, {
      metadata: {
        name: `entry-${name}`,
        namespace,
        labels: { ...entry(name), [group]: name },
        annotations: { 'dev.orrery.dev/publish': 'containers-ready' },
      },
      spec: { selector: { gate: name }, ports: [{ name: 'health', port: 9002, targetPort: 'health' }] },
    });
  }
}

/** Pods that are not gated, cannot be asked, belong to nobody, or lose their routes. */
async function gatedPods(make: Make): Promise<void> {
  await gates(make);
  const pod = (
    name: string,
    gate: string,
    inGroup: string,
    annotations: Record<string, string> = {},
    gated = true,
  ) =>
    make(pods, {
      metadata: { name, namespace, labels: { gate, [group]: inGroup }, annotations },
      spec: {
        terminationGracePeriodSeconds: 10,
        ...(gated ? { readinessGates: [{ conditionType: `scenes.example.com/${gate}` }] } : {}),
        containers: [
          { name: 'web', image: 'dev.orrery.dev/backend', ports: [{ name: 'health', containerPort: 9002 }] },
        ],
      },
    });
  await pod('proven', 'keep', 'keep');
  await pod('silent', 'keep', 'keep', { 'dev.orrery.dev/health': 'silent' });
  await pod('old-proxy', 'old', 'old', { 'dev.orrery.dev/health': 'no-header' });
  await pod('ungated', 'keep', 'keep', {}, false);
  await pod('watched-1', 'watch', 'watch');
  await pod('watched-2', 'watch', 'watch');
  await pod('orphan', 'owned', 'nobody');
  await pod('of-another', 'owned', 'owned');
  await make(pods, {
    metadata: { name: 'unplaced', namespace, labels: { gate: 'keep', [group]: 'keep' } },
    spec: {
      nodeName: 'a-node-of-nobody',
      readinessGates: [{ conditionType: 'scenes.example.com/keep' }],
      containers: [{ name: 'web', image: 'none' }],
    },
  });
  await make(configMaps, { metadata: { name: 'owned', namespace }, data: { mode: 'other' } });
}

/**
 * Workloads that join a Service just before the API server goes away, so that some pass over its slices is
 * interrupted.
 */
const lateJoiners = 12;
const joinEveryMs = 20;

const owner = { apiVersion: 'v1', kind: 'ConfigMap', require: { 'data.mode': 'gated' } };
const configMaps: KubeResource = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
};

/** Workloads that are probed in vain, and a Service whose slices come and go. */
async function outsiders(make: Make): Promise<void> {
  for (const name of ['machines', 'machines-2', 'machines-3']) {
    await make(services, {
      metadata: { name, namespace },
      spec: { selector: { app: 'machine' }, ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
    });
  }
  for (const [index, probe] of [
    null,
    'http://:8080/healthz period=2s failures=2',
    'tcp://:1 period=1s',
  ].entries()) {
    await make(externalWorkloads, {
      metadata: {
        name: `machine-${index}`,
        namespace,
        labels: { app: 'machine' },
        ...(probe === null ? {} : { annotations: { 'orrery.dev/probe': probe } }),
      },
      spec: {
        meshTLS: { identity: `spiffe://scenes/machine-${index}`, serverName: `machine-${index}.scenes` },
        workloadIPs: [{ ip: `10.200.0.${index + 1}` }],
        ports: [{ name: 'http', port: 8080 }],
      },
    });
  }
  for (let n = 0; n < lateJoiners; n++) {
    await make(externalWorkloads, {
      metadata: { name: `joins-${n}`, namespace, labels: { app: 'nothing' } },
      spec: {
        meshTLS: { identity: `spiffe://scenes/joins-${n}`, serverName: `joins-${n}.scenes` },
        workloadIPs: [{ ip: `10.200.1.${n + 1}` }],
        ports: [{ name: 'http', port: 8080 }],
      },
    });
  }
}

/** Elections without candidates, and one whose Lease somebody else holds. */
async function contests(make: Make): Promise<void> {
  for (const name of ['unwanted', 'foreign'])
    await make(elections, { metadata: { name, namespace }, spec: {} });
  const now = new Date(clock.now()).toISOString().replace('Z', '000Z');
  await make(leases, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'foreign', namespace },
    spec: {
      holderIdentity: 'another-program',
      leaseDurationSeconds: 20,
      acquireTime: now,
      renewTime: now,
      leaseTransitions: 4,
    },
  });
}

async function certificates(make: Make, pebble: Pebble): Promise<void> {
  const acme = (name: string, hosts: string[], server: string) =>
    make(issuers, {
      metadata: { name },
      spec: {
        domains: hosts,
        acme: {
          server,
          email: 'ops@example.com',
          caBundle: pebble.caBundle,
          accountSecret: { name: `${name}-account`, namespace },
          profile: 'default',
          challenge: 'http01',
        },
      },
    });
  await acme('pebble', ['**.example.com'], pebble.directory);
  await acme('away', ['**.example.net'], 'https://127.0.0.1:9/dir');
  await make(issuers, {
    metadata: { name: 'keyless' },
    spec: { domains: ['**.example.org'], ca: { secret: { name: 'missing', namespace }, lifetime: '24h' } },
  });
  const domain = (name: string, host: string, more: object = {}) =>
    make(domains, { metadata: { name, namespace }, spec: { host, ...more } });
  for (const name of ['one', 'two', 'three', 'four', 'five', 'six'])
    await domain(name, `${name}.example.com`);
  await domain('away', 'a.example.net');
  await domain('keyless', 'k.example.org');
  await domain('nowhere', 'n.example.invalid');
  await domain('blocked', 'blocked.example.com');
  await domain('wild', '*.example.com', { secretName: 'wild' });
  await make(secrets, {
    metadata: { name: 'theirs', namespace },
    type: 'kubernetes.io/tls',
    data: { 'tls.crt': base64('made by hand'), 'tls.key': base64('made by hand') },
  });
  await domain('theirs', 'theirs.example.com', { secretName: 'theirs' });
}

async function proxiedNodes(make: Make): Promise<void> {
  for (const name of ['roll-a', 'roll-b', 'roll-c']) await make(nodes, { metadata: { name } });
}

/** Changes objects in the API server; failures are reported and end nothing. */
function changesOf({ cluster: { kube } }: Stage, print: (line: string) => void) {
  const told = (error: Error) => print(`scenes: ${error.message}`);
  return {
    change(resource: KubeResource, name: string, body: object, where: string | undefined = namespace) {
      const place = where === '' ? {} : { namespace: where };
      return kube.patch(resource, { ...place, name, type: 'merge', body }, signal).catch(told);
    },
    remove: (resource: KubeResource, name: string, where: string | undefined = namespace) =>
      kube.delete(resource, where === '' ? undefined : where, name, {}, signal).catch(told),
    make: (resource: KubeResource, object: KubeObject) => kube.create(resource, object, signal).catch(told),
    async afterwards(what: string, seconds: number) {
      print(`scenes: ${what}`);
      await sleep(clock, seconds * 1_000);
    },
  };
}

/** The sequence of changes while records are written; each step leaves time for its consequences. */
async function changes(
  stage: Stage,
  replicas: RunningReplica[],
  pebble: Pebble,
  print: (line: string) => void,
): Promise<void> {
  const { change, remove, make, afterwards } = changesOf(stage, print);
  await afterwards('everything is made', 25);
  await change(pods, 'watched-1', { metadata: { annotations: { 'dev.orrery.dev/health': 'unhealthy' } } });
  await change(
    nodes,
    'roll-a',
    { spec: { taints: [{ key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' }] } },
    '',
  );
  await remove(nodes, 'roll-b', '');
  pebble.answerers = [];
  await make(domains, { metadata: { name: 'unheard', namespace }, spec: { host: 'unheard.example.com' } });
  await afterwards('a watched route is lost, challenges are not answered', 30);
  pebble.answerers = replicas.map(({ acmeUrl }) => acmeUrl);
  pebble.interfere = ({ kind }) =>
    kind === 'newOrder'
      ? {
          status: 429,
          headers: { 'Retry-After': '15' },
          body: { type: 'urn:ietf:params:acme:error:rateLimited', detail: 'too many orders' },
        }
      : undefined;
  for (const name of ['seven', 'eight'])
    await make(domains, { metadata: { name, namespace }, spec: { host: `${name}.example.com` } });
  await afterwards('the authority is rate limited', 12);
  pebble.interfere = () => undefined;
  await make(domains, { metadata: { name: 'nine', namespace }, spec: { host: 'nine.example.com' } });
  await change(pods, 'watched-2', { metadata: { annotations: { 'dev.orrery.dev/health': 'unhealthy' } } });
  for (let n = 0; n < lateJoiners; n++) {
    void change(externalWorkloads, `joins-${n}`, { metadata: { labels: { app: 'machine' } } });
    await sleep(clock, joinEveryMs);
  }
  stage.letThrough(false);
  // A pass over slices is tried again 15 times, 5 ms to 82 s apart; then the Service is stuck.
  await afterwards('the API server is away', 190);
  stage.letThrough(true);
  await afterwards('the API server is back', 8);
  await nextBundle(stage, replicas, print);
  for (const name of ['silent', 'ungated', 'orphan']) await remove(pods, name);
  await remove(services, 'entry-keep');
  await remove(externalWorkloads, 'machine-1');
  await remove(elections, 'foreign');
  await remove(domains, 'two');
  await remove(issuers, 'away', '');
  await afterwards('things are removed', 12);
}

/**
 * The next release of the bundle is incompatible with the replicas before it: it waits until the last of them
 * has gone.
 */
async function nextBundle(
  stage: Stage,
  replicas: RunningReplica[],
  print: (line: string) => void,
): Promise<void> {
  const folder = join(stage.dir, 'bundle');
  mkdirSync(folder, { recursive: true });
  const head = {
    name: 'platform',
    release: '0.2.0',
    minReconcilerRelease: '0.2.0',
    minServingRelease: '0.2.0',
  };
  writeFileSync(join(folder, 'bundle.yaml'), JSON.stringify({ ...head, manifests: ['settings.yaml'] }));
  const object = (name: string) =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'default', labels: { 'orrery.dev/builtin': 'true' } },
      data: { release: '0.2.0' },
    });
  writeFileSync(join(folder, 'settings.yaml'), ['platform-settings', 'theirs'].map(object).join('\n---\n'));
  await stage.cluster.kube
    .create(
      configMaps,
      { metadata: { name: 'theirs', namespace: 'default' }, data: { release: 'mine' } },
      signal,
    )
    .catch(() => {});
  print('scenes: the next bundle');
  const starting: Array<Promise<unknown>> = [];
  for (const [index, old] of [...replicas].entries()) {
    await old.stop();
    // The new replica is not ready before the last old one has gone.
    starting.push(
      stage.start(`next-${index}`, old.checkout).then(
        (replica) => {
          replicas[index] = replica;
        },
        (error: Error) => print(`scenes: ${error.message}`),
      ),
    );
    await sleep(clock, 8_000);
  }
  await sleep(clock, 4_000);
  await stage.cluster.kube.delete(configMaps, 'default', 'theirs', {}, signal).catch(() => {});
  await Promise.all(starting);
}
