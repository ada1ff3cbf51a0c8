/**
 * What Pods that wait for their routes cost, in calls, saved steps and messages: in virtual time, where no
 * other work of the machine takes part. One process; no server.
 *
 * Run: node bench/arrivals.ts [--groups 14] [--pods 20] [--services 20] [--within 10500] [--latency 70]
 * [--seed 5]
 * Pods come to their groups one after the other. Slices list a Pod 60 to 130 ms after it has an address, the
 * routing leads to it 0 to 0.2 s later, and a write of its condition is seen after 20 ms. The status of the
 * RouteGate is written each second while Pods wait. Calls are told by what came of them: `new` met a Pod for
 * the first time, `unlucky` met one that was known while another could have been met, `in vain` could meet
 * nobody new; `coming` while Pods of the group were still to come.
 */
import { readFlags, whole } from '../scripts/flags.ts';
import { seededRandom } from '../src/base/random.ts';
import type { PodDigest } from '../src/features/routes/digests.ts';
import { listingOf } from '../src/features/routes/start.ts';
import type { MessageSend } from '../src/machines/effects.ts';
import { gateSpec, pod, reachable, service, TestCluster } from '../test/actors/harness.ts';
import { BalancedNetwork } from '../test/features/routes/balanced-network.ts';

const values = readFlags('node bench/arrivals.ts', 'What Pods that wait cost, in virtual time.', {
  groups: whole('groups of Pods', 14),
  pods: whole('Pods of each', 20),
  services: whole('Services of each', 20),
  replicas: whole('replicas of Orrery', 1),
  within: whole('time in which the Pods come, ms', 10_500),
  latency: whole('time that a call takes on average, ms', 70),
  seed: whole('of what is drawn', 5),
});
const podCount = values.groups * values.pods;
const namespace = 'shop';
const { conditionType } = gateSpec;
const random = seededRandom(values.seed);
const between = (least: number, most: number) => least + random.next() * (most - least);

/** How often each of several things happened, the most frequent first. */
class Counts {
  readonly #counts = new Map<string, number>();

  add(what: string, count = 1): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + count);
  }

  toString(): string {
    const most = [...this.#counts].sort(([, a], [, b]) => b - a);
    const all = most.reduce((sum, [, count]) => sum + count, 0);
    return `${all}: ${most.map(([what, count]) => `${what} ${count}`).join(', ')}`;
  }
}

const cluster = new TestCluster();
cluster.isUnhurried = true;
const { clock } = cluster;
const outcomes = new Counts();
const met = new Set<string>();
const network: BalancedNetwork = new BalancedNetwork({
  clock,
  random: seededRandom(values.seed + 1),
  latencyMs: values.latency,
  onAnswer(host, ip) {
    const there = network.reachedBy(host);
    const missing = there.filter((one) => !met.has(`${host} ${one}`)).length;
    const isNew = ip !== undefined && !met.has(`${host} ${ip}`);
    if (ip !== undefined) met.add(`${host} ${ip}`);
    const what = isNew ? 'new' : missing > 0 ? 'unlucky' : 'in vain';
    outcomes.add(there.length < values.pods ? `${what} (coming)` : what);
  },
});

/** When each Pod's condition became True, and when its last route was there; ms. */
const trueAt = new Map<string, number>();
const routedAt = new Map<string, number>();
const digests = new Map<string, PodDigest>();

function putPod(name: string, digest: PodDigest): void {
  digests.set(name, digest);
  void cluster.put('pods', namespace, name, digest);
}

cluster.outside = async (effect, run, replica) => {
  if (effect.type !== 'pod-condition.patch') return network.outside(effect, run, replica);
  const { name, status } = effect as unknown as { name: string; status: 'True' | 'False' };
  if (status === 'True') trueAt.set(name, clock.now());
  clock.after(20, () => {
    const digest = digests.get(name);
    if (digest) putPod(name, { ...digest, conditions: { [conditionType]: status } });
  });
  return reachable(effect, run, replica);
};

const hostOf = (group: number, nth: number) => `10.1.${group}.${nth + 1}`;
const nameOf = (group: number, nth: number) => `svc-${group}-${nth}`;

async function putServices(): Promise<void> {
  for (let group = 0; group < values.groups; group++) {
    for (let nth = 0; nth < values.services; nth++) {
      await cluster.put('services', namespace, nameOf(group, nth), {
        ...service(nth),
        uid: `${group}-${nth}-uid`,
        labels: { routed: 'yes', group: `g${group}` },
        clusterIPs: [{ ip: hostOf(group, nth), family: 'IPv4' }],
      });
    }
  }
}

const slices = new Map<string, readonly string[]>();

/** The Service's slice lists the Pod, and then its routing leads there. */
function route(group: number, nth: number, name: string, ip: string): void {
  const of = nameOf(group, nth);
  const readyAddresses = [...(slices.get(of) ?? []), ip].sort();
  slices.set(of, readyAddresses);
  const common = { resourceVersion: '1', createdAt: 0, deleting: false, labels: {} };
  const digest = { kind: 'endpointslices', uid: `${of}-x`, service: of, readyAddresses, ...common };
  void cluster.put('endpointslices', namespace, `${of}-x`, digest);
  clock.after(between(0, 200), () => {
    network.program(hostOf(group, nth), ip);
    routedAt.set(name, clock.now());
  });
}

function letPodCome(nth: number): void {
  const [group, name, ip] = [nth % values.groups, `web-${nth}`, `10.0.${nth >> 8}.${nth & 255}`];
  const made = pod(nth, { uid: `pod-${nth}`, labels: { app: 'web', group: `g${group}` }, address: null });
  clock.after((nth / podCount) * values.within + between(0, 200), () => {
    putPod(name, made);
    clock.after(between(150, 250), () => {
      putPod(name, { ...made, ...digests.get(name), address: { ip, family: 'IPv4' } });
      for (let to = 0; to < values.services; to++)
        clock.after(between(60, 130), () => route(group, to, name, ip));
    });
  });
}

let writes = 0;
function writeStatus(): void {
  if (trueAt.size === podCount) return;
  void cluster.shopGate({ said: `${writes++}` });
  clock.after(1_000, writeStatus);
}

function report(startedAt: number, before: number): void {
  const steps = new Counts();
  const messages = new Counts();
  for (const { id, event, effects } of cluster.transitions().slice(before)) {
    steps.add(`${id.slice(0, id.indexOf('/'))} ${event.type}`);
    for (const effect of effects) {
      if (effect.type !== 'message.send') continue;
      const { to, event: sent } = effect as unknown as MessageSend;
      messages.add(sent.type, to.length);
    }
  }
  const waits = [...trueAt].map(([name, at]) => at - (routedAt.get(name) ?? 0)).sort((a, b) => a - b);
  const wait = (part: number) => `${Math.round(waits[Math.ceil(part * waits.length) - 1] ?? Number.NaN)} ms`;
  const harmonic = Array.from({ length: values.pods }, (_, nth) => 1 / (nth + 1)).reduce((a, b) => a + b, 0);
  const least = Math.round(values.groups * values.services * values.pods * harmonic);
  const allMs = Math.max(...trueAt.values()) - startedAt;
  console.log(`${trueAt.size} of ${podCount} Pods are ready, the last after ${Math.round(allMs)} ms`);
  console.log(
    `last route of a Pod → True: p50 ${wait(0.5)}, p90 ${wait(0.9)}, p99 ${wait(0.99)}, max ${wait(1)}`,
  );
  console.log(`calls ${network.calls}, of which whoever waits for all to come needs ${least}`);
  console.log(`  ${outcomes}`);
  console.log(`saved steps ${steps}`);
  console.log(`messages ${messages}`);
}

for (let n = 0; n < values.replicas; n++) {
  const { name, routes } = await cluster.replica(`r${n}`);
  network.list(name, listingOf(routes.groups));
}
await clock.advance(5_000);
await cluster.shop(0, 0);
await putServices();
await clock.advance(2_000);
const before = cluster.transitions().length;
const startedAt = clock.now();
for (let nth = 0; nth < podCount; nth++) letPodCome(nth);
writeStatus();
for (let n = 0; n < 3_000 && trueAt.size < podCount; n++) await clock.advance(100);
await clock.advance(3_000);
report(startedAt, before);
process.exit(0);
