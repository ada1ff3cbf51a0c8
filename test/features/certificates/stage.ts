/**
 * A cluster that obtains certificates: nats-server, API server and replicas as real processes, and what a
 * person would do in it – create Issuers and Domains, wait for Secrets, look at statuses and Events.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DevCluster, startDevCluster } from '../../../packages/dev-cluster/cluster.ts';
import { namespaces } from '../../../packages/dev-cluster/resources.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { hasCode } from '../../../src/base/errors.ts';
import type { KubeObject, KubeResource } from '../../../src/base/kube-port.ts';
import { silentLog } from '../../../src/base/log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import type { ShardsView } from '../../../src/base/views.ts';
import { domains, issuers, secrets } from '../../../src/features/certificates/resources.ts';
import { readPair } from '../../../src/features/certificates/stored-certificate.ts';
import { events } from '../../../src/kube/api/resources.ts';
import { readStory } from '../../e2e/story.ts';
import { program as builtProgram } from '../../suite/program.ts';
import { until } from '../../until.ts';
import type { Pebble } from './pebble.ts';
import { makeAuthority } from './test-authority.ts';

const basics = { clock: systemClock, random: systemRandom, log: silentLog };
const { signal } = new AbortController();

export interface Held {
  readonly chain: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly notAfter: number;
  readonly object: KubeObject;
}

export interface DomainStatusSeen {
  readonly state: string;
  readonly failures: number;
  readonly lastError?: string;
  readonly nextAttempt?: string;
  readonly notAfter?: string;
  readonly renewAt?: string;
  readonly observedGeneration: number;
  readonly conditions: ReadonlyArray<Readonly<Record<string, unknown>>>;
}

export interface StageOptions {
  readonly replicas?: number;
  readonly restarts?: boolean;
  /** What the replicas run; default: what the run has built. */
  readonly program?: string | undefined;
  readonly replicaEnv?: Readonly<Record<string, string>>;
}

export class Stage {
  readonly cluster: DevCluster;
  readonly namespace = 'shop';
  readonly #dir: string;

  private constructor(cluster: DevCluster, dir: string) {
    this.cluster = cluster;
    this.#dir = dir;
  }

  static async start({
    replicas = 3,
    restarts = false,
    program = builtProgram,
    replicaEnv = {},
  }: StageOptions = {}): Promise<Stage> {
    const dir = mkdtempSync(join(tmpdir(), 'orrery-certificates-'));
    const http = { host: '127.0.0.1', port: 0 };
    // With KUBECONFIG the same runs against that API server, which has to be a fresh one.
    const kubeconfig = process.env.KUBECONFIG;
    const real = kubeconfig === undefined ? {} : { kubeconfig };
    const replicaFlags = () => ['--acme-service', 'shop/orrery:8089'];
    const parts = { dir, replicas, http, restarts, replicaFlags, program, replicaEnv, print: () => {} };
    const options = { ...basics, ...parts, ...real };
    const stage = new Stage(await startDevCluster(options, signal), dir);
    await stage.make(namespaces, { metadata: { name: stage.namespace } });
    await until(async () => (await stage.ready()) === replicas, { what: 'the replicas', timeoutMs: 30_000 });
    return stage;
  }

  async stop(): Promise<void> {
    await this.cluster.stop();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  get dir(): string {
    return this.#dir;
  }

  async ready(): Promise<number> {
    const answers = await Promise.all(
      this.cluster.replicas.map(({ url }) =>
        fetch(`${url}/readyz`).then(
          ({ status }) => status,
          () => 0,
        ),
      ),
    );
    return answers.filter((status) => status === 200).length;
  }

  /** Waits until no shard has moved for a while: a move in the middle of an order may cost a second one. */
  async settled(): Promise<void> {
    let seen = '';
    let since = 0;
    await until(
      async () => {
        const [first] = this.cluster.replicas;
        const { shards } = (await (await fetch(`${first?.url}/api/v1/shards`)).json()) as ShardsView;
        const owners = JSON.stringify(shards.map(({ owner }) => owner));
        if (owners !== seen) since = systemClock.monotonic();
        seen = owners;
        return systemClock.monotonic() - since > 7_000;
      },
      { what: 'the shards to stay where they are', timeoutMs: 60_000 },
    );
  }

  make(resource: KubeResource, object: KubeObject): Promise<KubeObject> {
    return this.cluster.kube.create(resource, object, signal);
  }

  acmeIssuer(
    name: string,
    pebble: Pebble,
    spec: Record<string, unknown> = {},
    acme: object = {},
  ): Promise<unknown> {
    return this.make(issuers, {
      metadata: { name },
      spec: {
        domains: ['**.example.com'],
        acme: {
          server: pebble.directory,
          email: 'ops@example.com',
          caBundle: pebble.caBundle,
          accountSecret: { name: `${name}-account`, namespace: this.namespace },
          // pebble draws one of its profiles for orders that name none.
          profile: 'default',
          challenge: 'http01',
          ...acme,
        },
        ...spec,
      },
    });
  }

  async caIssuer(name: string, lifetime = '24h', hosts = ['**.ca.example.org']): Promise<void> {
    const authority = await makeAuthority(name);
    await this.make(secrets, {
      metadata: { name, namespace: this.namespace },
      type: 'kubernetes.io/tls',
      data: { 'tls.crt': base64(authority.pem), 'tls.key': base64(authority.keyPem) },
    });
    const secret = { name, namespace: this.namespace };
    await this.make(issuers, { metadata: { name }, spec: { domains: hosts, ca: { secret, lifetime } } });
  }

  domain(name: string, spec: Record<string, unknown>): Promise<KubeObject> {
    return this.make(domains, { metadata: { name, namespace: this.namespace }, spec });
  }

  async secret(name: string, namespace = this.namespace): Promise<Held | null> {
    try {
      const object = await this.cluster.kube.get(secrets, namespace, name, signal);
      const data = object.data as Record<string, string>;
      const [chain, key] = [text(data['tls.crt']), text(data['tls.key'])];
      const facts = readPair(chain, key);
      if ('broken' in facts) return null;
      return { chain, key, object, fingerprint: facts.fingerprint, notAfter: facts.notAfter };
    } catch (thrown) {
      if (hasCode(thrown, 'KUBE_NOT_FOUND')) return null;
      throw thrown;
    }
  }

  /** Names of the Secrets with a certificate of ours. */
  async ours(): Promise<string[]> {
    const options = { namespace: this.namespace, labelSelector: 'orrery.dev/domain' };
    return (await this.cluster.kube.list(secrets, options, signal)).items.map(
      ({ metadata }) => metadata.name,
    );
  }

  held(name: string, options: { not?: string; timeoutMs?: number; namespace?: string } = {}): Promise<Held> {
    return until(
      async () => {
        const held = await this.secret(name, options.namespace);
        return held !== null && held.fingerprint !== options.not ? held : undefined;
      },
      { what: `a certificate in Secret ${name}`, timeoutMs: options.timeoutMs ?? 30_000 },
    ).catch(async (error) => {
      throw new Error(`${error.message}; ${await this.#statuses()}`);
    });
  }

  /** For messages of failures: the state of every Domain and Issuer. */
  async #statuses(): Promise<string> {
    const kinds = await Promise.all(
      [domains, issuers].map((kind) => this.cluster.kube.list(kind, {}, signal)),
    );
    return JSON.stringify(
      kinds.flatMap(({ items }) => items.map(({ metadata, status }) => [metadata.name, status])),
    );
  }

  async status(name: string): Promise<DomainStatusSeen | undefined> {
    const domain = await this.cluster.kube.get(domains, this.namespace, name, signal);
    return domain.status as DomainStatusSeen | undefined;
  }

  async issuerStatus(name: string): Promise<Record<string, unknown> | undefined> {
    const issuer = await this.cluster.kube.get(issuers, undefined, name, signal);
    return issuer.status as Record<string, unknown> | undefined;
  }

  untilState(name: string, state: string, timeoutMs = 30_000): Promise<DomainStatusSeen> {
    return until(
      async () => {
        const status = await this.status(name);
        return status?.state === state ? status : undefined;
      },
      { what: `Domain ${name} to be ${state}`, timeoutMs },
    ).catch(async (error) => {
      throw new Error(`${error.message}; it is ${JSON.stringify(await this.status(name))}`);
    });
  }

  /** Reasons of the Events about an object. */
  async reasons(kind: string, name: string): Promise<string[]> {
    const { items } = await this.cluster.kube.list(events, {}, signal);
    return items
      .filter(({ regarding }) => {
        const about = regarding as { kind?: string; name?: string };
        return about.kind === kind && about.name === name;
      })
      .map(({ reason }) => String(reason));
  }

  /** The number of the replica that has the actor; undefined: none answers for it now. */
  async ownerOf(id: string): Promise<number | undefined> {
    const views = this.cluster.replicas.map(async ({ url }) => {
      const answer = await fetch(`${url}/api/v1/actors/${id}`, { signal: AbortSignal.timeout(5_000) });
      return ((await answer.json()) as { readonly owner?: string | null }).owner;
    });
    const owner = await Promise.any(views).catch(() => null);
    return owner ? Number(owner.split('-')[1]) : undefined;
  }

  story() {
    return readStory(this.cluster.natsUrl);
  }

  async metric(name: string): Promise<string[]> {
    const texts = await Promise.all(
      this.cluster.replicas.map(({ url }) =>
        fetch(`${url}/metrics`).then(
          (answer) => answer.text(),
          () => '',
        ),
      ),
    );
    return texts.flatMap((body) => body.split('\n').filter((line) => line.startsWith(name)));
  }
}

export const base64 = (value: string) => Buffer.from(value).toString('base64');
const text = (value: string | undefined) => Buffer.from(value ?? '', 'base64').toString('utf8');
