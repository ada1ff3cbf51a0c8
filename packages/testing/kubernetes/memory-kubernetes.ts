/**
 * A Kubernetes API within this process, for tests: the development API server (packages/kube-api, which the
 * conformance suite compares with the real one) without a socket, on a clock that the test moves.
 *
 * It has what a feature meets: server-side apply with owners of fields, conflicts, preconditions, finalizers,
 * status subresources, watches that expire, definitions with their schemas, roles, evictions with budgets,
 * namespaces that go with their content. Absent: whatever creates Pods from Deployments, and runs them.
 */

import type { Clock } from '../../../src/base/clock.ts';
import { hasCode, OrreryError } from '../../../src/base/errors.ts';
import type {
  KubeObject,
  KubePort,
  KubeResource,
  KubeWatchEvent,
  PatchOptions,
} from '../../../src/base/kube-port.ts';
import { type Random, seededRandom } from '../../../src/base/random.ts';
import { createRestPort } from '../../../src/kube/api/rest.ts';
import { createProcessApi, type ProcessApi } from '../../kube-api/server.ts';
import { processTransport } from './process-transport.ts';

/** An object as a test writes it. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

/** `v1/Node`, `apps/v1/Deployment`. */
type KindText = string;

export class MemoryKubernetes {
  /** With the administrator's rights. */
  readonly port: KubePort;
  /** The server itself, for other ways to reach it. */
  readonly api: ProcessApi;
  readonly #kinds = new Map<KindText, KubeResource>();
  readonly #signal = new AbortController().signal;

  constructor(parts: { readonly clock: Clock; readonly random?: Random }) {
    const { clock, random = seededRandom(1) } = parts;
    this.api = createProcessApi({ clock, random });
    this.port = createRestPort({ transport: processTransport(this.api), clock });
  }

  /** Creates each object, or makes it equal to the manifest (including a status that it contains). */
  async put(...manifests: readonly Manifest[]): Promise<void> {
    for (const manifest of manifests) await this.#putOne(manifest);
  }

  /** @returns null if there is none */
  async get(kind: KindText, name: string, namespace?: string): Promise<KubeObject | null> {
    try {
      return await this.port.get(await this.#kind(kind), namespace, name, this.#signal);
    } catch (thrown) {
      if (hasCode(thrown, 'KUBE_NOT_FOUND')) return null;
      throw thrown;
    }
  }

  async list(kind: KindText, namespace?: string): Promise<readonly KubeObject[]> {
    const options = namespace === undefined ? {} : { namespace };
    return (await this.port.list(await this.#kind(kind), options, this.#signal)).items;
  }

  /** A JSON merge patch. */
  async patch(
    kind: KindText,
    name: string,
    body: object,
    options: Pick<PatchOptions, 'namespace' | 'subresource'> = {},
  ): Promise<KubeObject> {
    const patch = { ...options, name, type: 'merge', body } as const;
    return this.port.patch(await this.#kind(kind), patch, this.#signal);
  }

  async delete(
    kind: KindText,
    name: string,
    namespace?: string,
    options: { gracePeriodSeconds?: number } = {},
  ) {
    await this.port.delete(await this.#kind(kind), namespace, name, options, this.#signal);
  }

  /**
   * Reports changes of a kind, beginning with the present objects.
   * @returns a function that ends it
   */
  watch(kind: KindText, onChange: (type: string, object: KubeObject) => void): () => void {
    const stop = new AbortController();
    const run = async () => {
      const resource = await this.#kind(kind);
      const { items, resourceVersion } = await this.port.list(resource, {}, stop.signal);
      for (const item of items) onChange('ADDED', item);
      let at = resourceVersion;
      const onEvent = (event: KubeWatchEvent) => {
        at = versionOf(event);
        if ('object' in event) onChange(event.type, event.object);
      };
      // Servers end a watch cleanly after a while.
      while (!stop.signal.aborted)
        await this.port.watch(
          resource,
          { resourceVersion: at, timeoutSeconds: 86_400 },
          onEvent,
          stop.signal,
        );
    };
    run().catch((thrown) => {
      if (!stop.signal.aborted) throw thrown;
    });
    return () => stop.abort();
  }

  /**
   * An account that may do what the rules say, and nothing else.
   * @returns its token
   */
  async account(name: string, rules: readonly object[]): Promise<string> {
    const namespace = 'default';
    const subjects = [{ kind: 'ServiceAccount', name, namespace }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
    const apiVersion = 'rbac.authorization.k8s.io/v1';
    await this.put(
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
      { apiVersion, kind: 'ClusterRole', metadata: { name }, rules },
      { apiVersion, kind: 'ClusterRoleBinding', metadata: { name }, subjects, roleRef },
    );
    const uid = (await this.get('v1/ServiceAccount', name, namespace))?.metadata.uid ?? '';
    const { tokens, clock } = this.api.cluster;
    return tokens.issue({ namespace, name, uid }, [audience], clock.now() + yearMs);
  }

  stop(): void {
    this.api.stop();
  }

  async #putOne(manifest: Manifest): Promise<void> {
    const { apiVersion, kind, status } = manifest;
    const { name, namespace } = manifest.metadata;
    const resource = await this.#kind(`${apiVersion}/${kind}`);
    const known = await this.get(`${apiVersion}/${kind}`, name, namespace);
    const object = manifest as unknown as KubeObject;
    if (known === null) await this.port.create(resource, object, this.#signal);
    else {
      const { resourceVersion } = known.metadata;
      const metadata = { ...object.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
      await this.port.replace(resource, { ...object, metadata }, this.#signal);
    }
    // A definition is served once it is established, a moment later.
    if (kind === 'CustomResourceDefinition') await new Promise((resolve) => setImmediate(resolve));
    if (status === undefined) return;
    const place = namespace === undefined ? {} : { namespace };
    const patch = { ...place, name, subresource: 'status', type: 'merge', body: { status } } as const;
    await this.port.patch(resource, patch, this.#signal);
  }

  async #kind(text: KindText): Promise<KubeResource> {
    const known = this.#kinds.get(text);
    if (known !== undefined) return known;
    const slash = text.lastIndexOf('/');
    if (slash < 1)
      throw new OrreryError('USAGE', `${text}: a kind is written as v1/Node or apps/v1/Deployment`);
    const found = await this.port.resolve(text.slice(0, slash), text.slice(slash + 1), this.#signal);
    this.#kinds.set(text, found);
    return found;
  }
}

const versionOf = (event: KubeWatchEvent): string =>
  'object' in event ? (event.object.metadata.resourceVersion ?? '') : event.resourceVersion;

const audience = 'https://kubernetes.default.svc';
const yearMs = 31_536_000_000;
