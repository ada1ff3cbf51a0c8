/**
 * Whether all replicas of this cluster name work for the same Kubernetes cluster.
 *
 * Two installations that share NATS and `--cluster` by mistake would take each other's objects for gone. Each
 * replica tells in its heartbeats which Kubernetes it knows: the uid of the Namespace `kube-system`, which
 * lives as long as the cluster does, and comes back with a restored etcd. Whoever meets an older replica of
 * another Kubernetes serves nothing, until that one says the same of itself; it does not take over when the
 * other goes, because that may be a restart. Promise: who cannot read its uid, or is not told another's, goes
 * on as if there were one.
 */
import type { FeatureRun } from '../../actors/feature.ts';
import type { Directory } from '../../actors/members/directory.ts';
import { learn } from '../../actors/members/learning.ts';
import type { Member } from '../../actors/members/members.ts';
import { isElder } from '../../actors/members/twins.ts';
import { attempt, hasCode } from '../../base/errors.ts';
import type { KubePort } from '../../base/kube-port.ts';
import type { Ambient } from '../../base/log-port.ts';
import { coreResource } from './resources.ts';

interface OneKubernetesParts extends Ambient {
  readonly kube: Pick<KubePort, 'get'>;
  /** Orrery's name on NATS. */
  readonly cluster: string;
}

const namespaces = coreResource('namespaces', 'Namespace', false);
const retryMs = { first: 1_000, most: 60_000 };

const told =
  'a replica works for another Kubernetes cluster under this cluster name: the younger one serves nothing. Give one of the two installations another --cluster, or another NATS account';

export class OneKubernetes {
  readonly #parts: OneKubernetesParts;
  readonly #over = new AbortController();
  #uid: string | null = null;
  /** By incarnation: older replicas of another Kubernetes, until they say that they do not serve. */
  readonly #elders = new Map<string, string>();
  #strangers: readonly Member[] = [];

  constructor(parts: OneKubernetesParts) {
    this.#parts = parts;
  }

  /** For the heartbeats of this replica. */
  told(): Pick<Member, 'kubernetes'> {
    return this.#uid === null ? {} : { kubernetes: this.#uid };
  }

  run(engine: { readonly directory: Directory }): FeatureRun {
    return {
      prepare: () => learn(this.#parts, () => this.#learn(), retryMs, this.#over.signal),
      blocked: () => this.#blocked(engine),
      isOutside: () => this.#blocked(engine) !== null,
      remarks: () => this.#remarks(engine),
      stop: () => this.#over.abort(new Error('the replica ends')),
    };
  }

  async #learn(): Promise<void> {
    const { kube, log } = this.#parts;
    try {
      const { metadata } = await kube.get(namespaces, undefined, 'kube-system', this.#over.signal);
      this.#uid = metadata.uid ?? null;
    } catch (thrown) {
      if (!hasCode(thrown, 'KUBE_REFUSED') && !hasCode(thrown, 'KUBE_NOT_FOUND')) throw thrown;
      log.debug({ error: thrown.message }, 'which Kubernetes cluster this is cannot be read');
    }
  }

  #blocked(engine: { readonly directory: Directory }): string | null {
    this.#look(engine);
    const [elder] = this.#elders.values();
    if (elder === undefined) return null;
    return `replica ${elder} works for another Kubernetes cluster under the same --cluster ${this.#parts.cluster}: give this installation another one, or another NATS account. If it is the other one's mistake, start this replica again once that one is away`;
  }

  #remarks(engine: { readonly directory: Directory }): readonly string[] {
    this.#look(engine);
    if (this.#elders.size > 0 || this.#strangers.length === 0) return [];
    const names = this.#strangers.map(({ replica }) => replica).join(', ');
    return [`work for another Kubernetes cluster under the same --cluster, and serve nothing: ${names}`];
  }

  #look(engine: { readonly directory: Directory }): void {
    // Before the engine has started, nobody is known.
    const directory = attempt(() => engine.directory, null);
    const live = directory?.live() ?? null;
    if (directory === null || live === null || this.#uid === null) return;
    const { incarnation } = directory;
    const own = { incarnation, ageMs: directory.ageMs() };
    const before = this.#strangers;
    this.#strangers = [...live.values()].filter(
      ({ kubernetes }) => kubernetes !== undefined && kubernetes !== this.#uid,
    );
    for (const one of this.#strangers) {
      if (!one.serving) this.#elders.delete(one.incarnation);
      else if (isElder(one, own)) this.#elders.set(one.incarnation, one.replica);
      if (before.some((known) => known.incarnation === one.incarnation)) continue;
      const facts = { other: one.replica, its: one.kubernetes, own: this.#uid };
      this.#parts.log.error(facts, told);
    }
  }
}
