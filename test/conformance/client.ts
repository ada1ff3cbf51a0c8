/**
 * A plain HTTP client for the conformance tests, without any Kubernetes library between the test and the
 * wire.
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { createInterface } from 'node:readline';
import type { Access } from './kubeconfig.ts';

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json | undefined;
}

export interface Reply {
  readonly code: number;
  /** The body, if it is JSON; else under `text`. */
  readonly body: JsonObject;
  readonly text: string;
  readonly warnings: readonly string[];
}

export interface CallOptions {
  readonly type?: string;
  readonly accept?: string;
  /** `User-Agent`; none by itself. */
  readonly agent?: string;
  /** Instead of the kubeconfig's; null: none at all. */
  readonly token?: string | null;
}

export interface WatchEvent {
  readonly type: string;
  readonly object: JsonObject;
}

/** An open watch: events as they come, in order. */
export interface Watch {
  readonly code: number;
  /** Every event so far. */
  readonly events: readonly WatchEvent[];
  readonly hasEnded: boolean;
  close(): void;
}

export const patchTypes = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

export class Client {
  readonly #access: Access;
  readonly #agent: HttpAgent;
  /** Without the client certificate, for calls that identify themselves by another token. */
  readonly #stranger: HttpAgent;

  constructor(access: Access) {
    this.#access = access;
    const { ca, cert, key, skipsVerification } = access;
    const server = { ca, rejectUnauthorized: !skipsVerification, keepAlive: true };
    const isSecure = access.url.startsWith('https:');
    this.#agent = isSecure ? new HttpsAgent({ ...server, cert, key }) : new HttpAgent({ keepAlive: true });
    this.#stranger = isSecure ? new HttpsAgent(server) : new HttpAgent({ keepAlive: true });
  }

  close(): void {
    this.#agent.destroy();
    this.#stranger.destroy();
  }

  get(path: string, options?: CallOptions): Promise<Reply> {
    return this.call('GET', path, undefined, options);
  }

  post(path: string, body: Json, options?: CallOptions): Promise<Reply> {
    return this.call('POST', path, body, options);
  }

  put(path: string, body: Json, options?: CallOptions): Promise<Reply> {
    return this.call('PUT', path, body, options);
  }

  patch(path: string, form: keyof typeof patchTypes, body: Json): Promise<Reply> {
    return this.call('PATCH', path, body, { type: patchTypes[form] });
  }

  delete(path: string, body?: Json): Promise<Reply> {
    return this.call('DELETE', path, body);
  }

  /** @param body sent as JSON; text is sent as it is */
  async call(method: string, path: string, body?: Json, options: CallOptions = {}): Promise<Reply> {
    const message = await this.#send(method, path, body, options);
    const chunks: Buffer[] = [];
    for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString('utf8');
    const warnings = message.headersDistinct.warning ?? [];
    return { code: message.statusCode ?? 0, body: parsed(text), text, warnings };
  }

  async watch(
    path: string,
    query: Readonly<Record<string, string>> = {},
    options: CallOptions = {},
  ): Promise<Watch> {
    const parameters = new URLSearchParams({ watch: 'true', ...query });
    const message = await this.#send('GET', `${path}?${parameters}`, undefined, options);
    const events: WatchEvent[] = [];
    const state = { hasEnded: false };
    const lines = createInterface({ input: message });
    lines.on('line', (line) => events.push(parsed(line) as unknown as WatchEvent));
    lines.on('close', () => {
      state.hasEnded = true;
    });
    message.on('error', () => lines.close());
    return {
      code: message.statusCode ?? 0,
      events,
      get hasEnded() {
        return state.hasEnded;
      },
      close: () => void message.destroy(),
    };
  }

  #send(
    method: string,
    path: string,
    body: Json | undefined,
    options: CallOptions,
  ): Promise<IncomingMessage> {
    const url = new URL(this.#access.url + path);
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
    const token = options.token === undefined ? this.#access.token : (options.token ?? undefined);
    const headers = {
      Accept: options.accept ?? 'application/json',
      ...(options.agent === undefined ? {} : { 'User-Agent': options.agent }),
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
      ...(text === undefined
        ? {}
        : { 'Content-Type': options.type ?? 'application/json', 'Content-Length': Buffer.byteLength(text) }),
    };
    return new Promise((resolve, reject) => {
      const agent = options.token === undefined ? this.#agent : this.#stranger;
      const sent = send(url, { method, headers, agent }, resolve);
      sent.on('error', reject);
      sent.end(text);
    });
  }
}

function parsed(text: string): JsonObject {
  try {
    return JSON.parse(text) as JsonObject;
  } catch {
    return {};
  }
}
