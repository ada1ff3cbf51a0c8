/**
 * A small Kubernetes API over real HTTP that keeps objects of one resource and can misbehave in every way
 * ever seen.
 *
 * Well-behaved by default: paged lists, watches from a version with bookmarks, 410 for compacted versions. A
 * fault affects a request before it is served, and is used once.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeObject } from '../../../src/base/kube-port.ts';

export interface ApiRequest {
  readonly kind: 'list' | 'watch' | 'other';
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Fault = (request: ApiRequest, response: ServerResponse, api: HostileApi) => void;

interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubeObject;
  readonly version: number;
}

export class HostileApi {
  readonly requests: ApiRequest[] = [];
  readonly objects = new Map<string, KubeObject>();
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #folder = mkdtempSync(join(tmpdir(), 'orrery-hostile-'));
  readonly #faults: Array<{ readonly kind: ApiRequest['kind'] | 'any'; readonly fault: Fault }> = [];
  readonly #watches = new Set<ServerResponse>();
  readonly #changes: Change[] = [];
  #version = 100;
  #uids = 0;
  /** Versions up to this one can no longer be watched from. */
  #compacted = 0;

  /** A kubeconfig that names this server. */
  get kubeconfig(): string {
    return join(this.#folder, 'kubeconfig');
  }

  get server(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  async listen(user: object = { token: 'a-token' }): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.writeKubeconfig(user);
    return this;
  }

  writeKubeconfig(user: object): void {
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server: this.server } }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    };
    writeFileSync(this.kubeconfig, JSON.stringify(config));
  }

  file(name: string, text: string): string {
    const path = join(this.#folder, name);
    writeFileSync(path, text, { mode: 0o700 });
    return path;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.#folder, { recursive: true });
  }

  /** Ends every connection without a word. */
  cut(): void {
    this.#server.closeAllConnections();
  }

  put(namespace: string, name: string, fields: Record<string, unknown> = {}): KubeObject {
    const key = `${namespace}/${name}`;
    const before = this.objects.get(key);
    const resourceVersion = `${++this.#version}`;
    const { labels, ...rest } = fields;
    const object: KubeObject = {
      metadata: {
        namespace,
        name,
        uid: before?.metadata.uid ?? `uid-${++this.#uids}`,
        resourceVersion,
        ...(labels === undefined ? {} : { labels: labels as Record<string, string> }),
      },
      ...rest,
    };
    this.objects.set(key, object);
    this.#change({ type: before === undefined ? 'ADDED' : 'MODIFIED', object, version: this.#version });
    return object;
  }

  remove(namespace: string, name: string): void {
    const key = `${namespace}/${name}`;
    const before = this.objects.get(key);
    if (before === undefined) return;
    this.objects.delete(key);
    const object = { ...before, metadata: { ...before.metadata, resourceVersion: `${++this.#version}` } };
    this.#change({ type: 'DELETED', object, version: this.#version });
  }

  /** Forgets history: a watch from an older version gets 410. */
  compact(): void {
    this.#compacted = this.#version;
    this.#changes.length = 0;
  }

  /** Tells every watch the present version. */
  bookmark(): void {
    for (const watch of this.#watches) watch.write(this.bookmarkLine());
  }

  bookmarkLine(): string {
    return `${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: `${this.#version}` } } })}\n`;
  }

  /** Ends every watch in good order. */
  endWatches(): void {
    for (const watch of this.#watches) watch.end();
  }

  /** The next request of the kind meets this fault. */
  fault(kind: ApiRequest['kind'] | 'any', fault: Fault): void {
    this.#faults.push({ kind, fault });
  }

  get faultsLeft(): number {
    return this.#faults.length;
  }

  dropFaults(): void {
    this.#faults.length = 0;
  }

  #change(change: Change): void {
    this.#changes.push(change);
    const line = lineOf(change);
    for (const watch of this.#watches) watch.write(line);
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    incoming.on('error', () => {});
    for await (const piece of incoming) pieces.push(piece as Buffer);
    const url = new URL(incoming.url ?? '', this.server);
    const isCollection = incoming.method === 'GET' && /\/(pods|services|widgets)$/.test(url.pathname);
    const kind = !isCollection ? 'other' : url.searchParams.get('watch') === 'true' ? 'watch' : 'list';
    const body = Buffer.concat(pieces).toString();
    const request: ApiRequest = { kind, method: incoming.method ?? '', url, headers: incoming.headers, body };
    this.requests.push(request);
    const index = this.#faults.findIndex((one) => one.kind === kind || one.kind === 'any');
    const [taken] = index < 0 ? [] : this.#faults.splice(index, 1);
    if (taken !== undefined) taken.fault(request, response, this);
    else this.answer(request, response);
  }

  /** Serves the request as a proper API server does. */
  answer(request: ApiRequest, response: ServerResponse): void {
    if (request.kind === 'list') this.#list(request, response);
    else if (request.kind === 'watch') this.watch(request, response);
    else status(response, 404, 'NotFound');
  }

  #list({ url }: ApiRequest, response: ServerResponse): void {
    const [from, version] = (url.searchParams.get('continue') ?? `0/${this.#version}`).split('/').map(Number);
    if ((version ?? 0) < this.#compacted) {
      status(response, 410, 'Expired');
      return;
    }
    const limit = Number(url.searchParams.get('limit') ?? '500');
    // The present objects: a continued list of a real server is of the old version, and the watch makes up
    // for the difference.
    const all = [...this.objects.values()];
    const next = (from ?? 0) + limit;
    json(response, 200, {
      metadata: {
        resourceVersion: `${version}`,
        ...(next < all.length ? { continue: `${next}/${version}` } : {}),
      },
      items: all.slice(from, next),
    });
  }

  watch({ url }: ApiRequest, response: ServerResponse): void {
    const from = Number(url.searchParams.get('resourceVersion'));
    if (from < this.#compacted) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(`${JSON.stringify({ type: 'ERROR', object: statusObject(410, 'Expired') })}\n`);
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    for (const change of this.#changes) if (change.version > from) response.write(lineOf(change));
    this.#watches.add(response);
    response.on('close', () => this.#watches.delete(response));
  }
}

export function lineOf({ type, object }: { readonly type: string; readonly object: unknown }): string {
  return `${JSON.stringify({ type, object })}\n`;
}

export function statusObject(code: number, reason: string, more: object = {}) {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    message: `it is ${reason}`,
    reason,
    code,
    ...more,
  };
}

export function status(
  response: ServerResponse,
  code: number,
  reason: string,
  headers: Record<string, string> = {},
): void {
  json(response, code, statusObject(code, reason), headers);
}

export function json(
  response: ServerResponse,
  code: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(code, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}
