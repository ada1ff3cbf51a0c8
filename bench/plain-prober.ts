/**
 * A plain program that does what Orrery does for the Pods of `bench/readiness.ts --only groups`: it calls
 * each Service until it has met every Pod of its group, and then sets the Pod's condition. One process, no
 * charts, no records, no other replica; what it knows is lost when it dies. What Orrery costs beyond it is
 * the price of those.
 *
 * Run by `bench/readiness.ts --only plain` with a kubeconfig and the condition's type; tells its parent how
 * many calls it has made.
 */
import { startInformer } from '../packages/dev-cluster/controllers/informer.ts';
import type { PodObject } from '../packages/dev-cluster/objects.ts';
import { pods } from '../packages/dev-cluster/resources.ts';
import { parseAddress } from '../src/base/address.ts';
import { systemClock as clock, sleep } from '../src/base/clock.ts';
import type { KubeObject } from '../src/base/kube-port.ts';
import { limits } from '../src/base/limits.ts';
import { silentLog as log } from '../src/base/log.ts';
import { systemRandom as random } from '../src/base/random.ts';
import { probeCall } from '../src/features/routes/probe/call.ts';
import { connectKube } from '../src/kube/api/kube-connection.ts';
import { services } from '../src/kube/api/resources.ts';

const [, , kubeconfig, conditionType] = process.argv;
if (kubeconfig === undefined || conditionType === undefined) throw new Error('a kubeconfig, a condition');
const { signal } = new AbortController();
const kube = connectKube({ kubeconfig, clock, random, log });

interface Group {
  /** By address: the Pod, and the Services that it still waits for. */
  readonly pods: Map<string, { readonly pod: PodObject; readonly missing: Set<string> }>;
  readonly services: string[];
}
const groups = new Map<string, Group>();
const groupOf = ({ metadata: { labels } }: KubeObject): Group => {
  const name = labels?.group ?? '';
  const group = groups.get(name) ?? { pods: new Map(), services: [] };
  groups.set(name, group);
  return group;
};

let [calls, inFlight] = [0, 0];
const waiting: Array<() => void> = [];
const target = (ip: string) => ({
  url: `http://${ip}:9002/healthz`,
  podIPHeaders: { IPv4: 'Pod-IPv4', IPv6: 'Pod-IPv6' },
  timeoutMs: 3_000,
});

/** One call of as many as Orrery has in flight. */
async function call(service: string, group: Group): Promise<void> {
  if (inFlight >= limits.probeCallsInFlight) await new Promise<void>((turn) => waiting.push(turn));
  inFlight += 1;
  calls += 1;
  await probeCall(target(service), { clock, parseAddress }, signal, (answer) => {
    if (answer.kind === 'named') for (const { ip } of answer.addresses) met(ip, service, group);
  });
  inFlight -= 1;
  waiting.shift()?.();
}

function met(ip: string, service: string, group: Group): void {
  const known = group.pods.get(ip);
  if (known?.missing.delete(service) && known.missing.size === 0) void mark(known.pod);
}

async function mark({ metadata: { namespace = '', name, uid } }: PodObject): Promise<void> {
  const conditions = [{ type: conditionType, status: 'True', reason: 'RoutesVerified' }];
  const body = { metadata: { uid }, status: { conditions } };
  await kube.patch(pods, { namespace, name, subresource: 'status', type: 'strategic', body }, signal);
}

/** Calls one after the other while any Pod of the group is missing. */
async function work(service: string, group: Group): Promise<void> {
  for (;;) {
    if ([...group.pods.values()].some(({ missing }) => missing.has(service))) await call(service, group);
    else await sleep(clock, 50);
  }
}

const known = startInformer<KubeObject & { spec?: { clusterIP?: string } }>({
  ...{ kube, clock, random, log },
  resource: services,
  onChange: ({ type, object }) => {
    const ip = object.spec?.clusterIP;
    const group = groupOf(object);
    if (type !== 'set' || object.metadata.labels?.routed !== 'yes' || ip === undefined) return;
    if (group.services.includes(ip)) return;
    group.services.push(ip);
    for (let n = 0; n < limits.probeCallsAtOnce; n++) void work(ip, group);
  },
});
// A Pod waits for the Services that are there when it comes.
await known.synced;
startInformer<PodObject>({
  ...{ kube, clock, random, log },
  resource: pods,
  onChange: ({ type, object }) => {
    const [ip, group] = [object.status?.podIP, groupOf(object)];
    if (type !== 'set' || ip === undefined || group.pods.has(ip)) return;
    group.pods.set(ip, { pod: object, missing: new Set(group.services) });
  },
});
process.on('disconnect', () => process.exit(0));
for (;;) {
  process.send?.({ calls });
  await sleep(clock, 100);
}
