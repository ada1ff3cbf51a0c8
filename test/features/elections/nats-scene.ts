/**
 * Elections on several replicas with virtual time: the real charts, hosts, requests and Lease effects, on the
 * memory bus and a Kubernetes API in memory. Candidates ask over the bus, as in any language.
 */
import { type ControlServer, serveControl } from '../../../src/actors/control/control-server.ts';
import { runnerOf } from '../../../src/actors/effect-runner.ts';
import { silentLog } from '../../../src/base/log.ts';
import { seededRandom } from '../../../src/base/random.ts';
import type { MemoryBus } from '../../../src/bus/memory/memory-bus.ts';
import { errorInAnswer } from '../../../src/bus/rpc.ts';
import type { ElectionAction } from '../../../src/bus/subjects.ts';
import { leaseEffects } from '../../../src/features/elections/effects/lease-effects.ts';
import type { ElectionDigest } from '../../../src/features/elections/election-digest.ts';
import { createLeaseStore } from '../../../src/features/elections/lease.ts';
import { createLeaseFollower } from '../../../src/features/elections/lease-follower.ts';
import type { ElectionStatus } from '../../../src/machines/election/election-effects.ts';
import type { CampaignAnswer, RenewAnswer } from '../../../src/machines/election/election-words.ts';
import { defaultTiming } from '../../../src/machines/election/lease-record.ts';
import { reachable, TestCluster, type TestReplica } from '../../actors/harness.ts';
import { LeaseKube } from './lease-kube.ts';

interface Running extends TestReplica {
  readonly control: ControlServer;
  readonly end: AbortController;
}

export class ElectionScene {
  readonly cluster = new TestCluster();
  readonly kube = new LeaseKube(this.cluster.clock);
  readonly replicas = new Map<string, Running>();
  readonly statuses: ElectionStatus[] = [];
  readonly notes: string[] = [];
  /** How many writes of a status fail from now on. */
  statusFailures = 0;
  readonly #client: MemoryBus;
  readonly #runs = new Map<string, ReturnType<typeof runnerOf>>();

  constructor() {
    this.#client = this.cluster.hub.connect('client');
    this.cluster.outside = async (effect, run, replica) => {
      if (effect.type === 'election-status.patch') {
        if (this.statusFailures-- > 0) throw new Error('the API server is away');
        this.statuses.push(effect.status as ElectionStatus);
        return { type: 'election-status.patched' };
      }
      if (effect.type === 'kube-event.write') this.notes.push(String(effect.note));
      const runner = effect.type.startsWith('lease.') ? this.#runs.get(replica) : undefined;
      return runner ? runner(effect, run as never) : reachable(effect, run, replica);
    };
  }

  static async start(replicas: number, elections: readonly string[] = ['worker']): Promise<ElectionScene> {
    const scene = new ElectionScene();
    for (let n = 0; n < replicas; n++) await scene.replica(`r${n}`);
    await scene.cluster.clock.advance(6_000);
    await scene.cluster.put('_synced', '', 'orrery.dev/v1alpha1/Election', {
      kind: 'synced',
      gates: [],
      resource: 'elections.orrery.dev',
    });
    for (const name of elections) await scene.election(name);
    return scene;
  }

  async replica(name: string): Promise<void> {
    const { clock, subjects } = this.cluster;
    const store = createLeaseStore({ kube: this.kube, clock });
    const parts = { kube: this.kube, store, clock, log: silentLog };
    const follower = createLeaseFollower({ ...parts, random: seededRandom(7), breadth: 'namespace' });
    this.#runs.set(name, runnerOf(leaseEffects({ store, follower, clock })));
    const made = await this.cluster.replica(name);
    const control = serveControl({
      engine: made.engine,
      bus: made.bus,
      subjects,
      clock,
      replica: name,
      release: '1.0.0',
      requests: made.requests,
    });
    this.replicas.set(name, { ...made, control, end: new AbortController() });
  }

  /** As if the process had died. */
  kill(name: string): void {
    const one = this.replicas.get(name);
    one?.control.stop();
    one?.engine.kill();
    this.replicas.delete(name);
  }

  ownerOf(name: string): string {
    for (const [replica, { engine }] of this.replicas) {
      if (engine.shards.runOf(`election/shop/${name}`)?.phase === 'active') return replica;
    }
    throw new Error(`nobody owns ${name}`);
  }

  async election(
    name: string,
    spec: Partial<ElectionDigest['spec']> = {},
    uid = `uid-${name}`,
    status: Pick<ElectionDigest, 'said' | 'term'> = {},
  ): Promise<void> {
    const place = { namespace: 'shop', name };
    await this.cluster.put('elections.orrery.dev', 'shop', name, {
      kind: 'elections',
      uid,
      resourceVersion: '1',
      createdAt: 0,
      deleting: false,
      labels: {},
      generation: 1,
      spec: { place, timing: defaultTiming, releaseOnCancel: true, invalid: null, ...spec },
      ...status,
    } satisfies ElectionDigest);
    await this.cluster.clock.advance(20);
  }

  async noElection(name: string): Promise<void> {
    await this.cluster.put('elections.orrery.dev', 'shop', name, null);
    await this.cluster.clock.advance(20);
  }

  /**
   * One request; time passes until it is answered.
   * @throws OrreryError with the replica's refusal
   */
  async ask<T>(name: string, action: ElectionAction, body: object = {}): Promise<T> {
    return this.#soon(this.request<T>(name, action, body));
  }

  /** The same on the candidate's own subject. */
  async own<T>(candidate: string, action: 'campaign' | 'renew' | 'resign', body: object): Promise<T> {
    const subject = this.cluster.subjects.rpcCandidate('shop', 'worker', candidate, action);
    return this.#soon(this.request<T>('worker', action, body, subject));
  }

  /** A message to the election, through its stream. */
  async mail(event: object, passMs = 50): Promise<void> {
    const { clock, subjects } = this.cluster;
    await this.#client.append(
      subjects.send('election/shop/worker'),
      new TextEncoder().encode(JSON.stringify(event)),
    );
    if (passMs > 0) await clock.advance(passMs);
  }

  async #soon<T>(asking: Promise<T>): Promise<T> {
    // Whoever awaits it hears of a rejection.
    asking.catch(() => {});
    await this.cluster.clock.advance(5);
    return asking;
  }

  /** Without passing time. */
  async request<T>(
    name: string,
    action: ElectionAction,
    body: object,
    subject = this.cluster.subjects.rpcElection('shop', name, action),
    timeoutMs = 1_000,
  ) {
    const data = new TextEncoder().encode(JSON.stringify(body));
    const answer = await this.#client.request(subject, data, { timeoutMs });
    const refused = errorInAnswer(answer);
    if (refused) throw refused;
    return JSON.parse(new TextDecoder().decode(answer.data)) as T;
  }

  campaign(candidate: string, ttlMs = 3_000, name = 'worker'): Promise<CampaignAnswer> {
    return this.ask(name, 'campaign', { candidate, ttlMs });
  }

  renew(candidate: string, term: number, name = 'worker'): Promise<RenewAnswer> {
    return this.ask(name, 'renew', { candidate, term });
  }

  status(name = 'worker'): Promise<ElectionStatus> {
    return this.ask(name, 'get');
  }

  advance(ms: number): Promise<void> {
    return this.cluster.clock.advance(ms);
  }
}
