/**
 * A real ACME server (pebble) with a real DNS server, as child processes on free ports. In front of pebble, a
 * proxy can be away, answer something else, and counts orders.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import {
  createServer,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer, Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort } from '../../../packages/dev-cluster/network/ports.ts';
import { pebbleFolder } from '../../../scripts/setup/pebble.mjs';
import { until } from '../../until.ts';
import { makeAuthority } from './test-authority.ts';

export interface PebbleOptions {
  /** Percent of good nonces that are refused. */
  readonly nonceReject?: number;
  /** The most seconds of sleep before a validation; absent: none. */
  readonly sleepSeconds?: number;
  readonly eab?: Readonly<Record<string, string>>;
  /** Seconds. */
  readonly validity?: number;
  readonly retryAfter?: { readonly authz: number; readonly order: number };
}

/** What the proxy does with a request: `undefined` lets it pass. */
export type Interference = (request: {
  readonly method: string;
  readonly path: string;
  readonly kind: string;
  /** Is fulfilled when it is answered, or when whoever asked is gone. */
  readonly over: Promise<void>;
}) => Done | Promise<Done>;

export type Done =
  | undefined
  | 'hangUp'
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: object };

export interface Pebble {
  /** The directory, through the proxy. */
  readonly directory: string;
  readonly caBundle: string;
  /** Requests that were answered with success, by kind of resource: `newOrder`, `newNonce`, … */
  readonly counts: Map<string, number>;
  interfere: Interference;
  /** Where HTTP-01 questions go: a list of `http://127.0.0.1:port`, asked in turn. */
  answerers: readonly string[];
  /** Management interface: `/intermediates/0`, `/set-renewal-info/`. */
  manage(path: string, body?: object): Promise<string>;
  /**
   * Makes pebble suggest another renewal window for a certificate (PEM): one in the past means that it was
   * revoked.
   */
  suggestRenewal(chainPem: string, window: { start: number; end: number }): Promise<void>;
  /** Sets a TXT record; null removes it. */
  setTxt(fqdn: string, value: string | null): Promise<void>;
  stop(): Promise<void>;
}

const kinds: Readonly<Record<string, string>> = {
  '/dir': 'directory',
  '/nonce-plz': 'newNonce',
  '/sign-me-up': 'newAccount',
  '/order-plz': 'newOrder',
  '/finalize-order': 'finalize',
  '/certZ': 'certificate',
  '/my-order': 'order',
  '/authZ': 'authorization',
  '/chalZ': 'challenge',
  '/draft-ietf-acme-ari-03': 'renewalInfo',
};

export async function startPebble(options: PebbleOptions = {}): Promise<Pebble> {
  const folder = pebbleFolder(resolve(import.meta.dirname, '../../..'), process.env);
  if (folder === undefined) throw new Error('pebble is not installed: node scripts/setup.mjs --tests');
  const dir = mkdtempSync(join(tmpdir(), 'orrery-pebble-'));
  const authority = await makeAuthority('pebble-test');
  const server = await authority.issue('localhost');
  const [acme, manage, dns, dnsManage] = await Promise.all([port(), port(), port(), port()]);
  const front = await startFront();
  writeFileSync(join(dir, 'cert.pem'), server.chain);
  writeFileSync(join(dir, 'key.pem'), server.key);
  writeFileSync(
    join(dir, 'config.json'),
    JSON.stringify(configOf(options, { dir, acme, manage, http: front.port })),
  );
  const env = {
    ...process.env,
    PEBBLE_WFE_NONCEREJECT: String(options.nonceReject ?? 0),
    ...(options.sleepSeconds === undefined
      ? { PEBBLE_VA_NOSLEEP: '1' }
      : { PEBBLE_VA_SLEEPTIME: String(options.sleepSeconds) }),
  };
  const children: ChildProcess[] = [];
  const run = (name: string, args: string[]) =>
    children.push(
      spawn('sh', ['-c', watchdog, 'sh', join(folder, name), ...args], {
        env,
        stdio: ['pipe', 'ignore', 'ignore'],
      }),
    );
  run('pebble-challtestsrv', [
    ...['-dnsserver', `127.0.0.1:${dns}`, '-management', `127.0.0.1:${dnsManage}`],
    ...['-defaultIPv6', '', '-http01', '', '-https01', '', '-tlsalpn01', '', '-doh', ''],
  ]);
  run('pebble', ['-config', join(dir, 'config.json'), '-dnsserver', `127.0.0.1:${dns}`]);
  const proxy = await startProxy(acme, server, authority.pem);
  const management = (path: string, body?: object) =>
    call(`https://localhost:${manage}${path}`, authority.pem, body).then(({ text }) => text);
  await until(
    () => call(`https://localhost:${acme}/dir`, authority.pem).then(({ status }) => status === 200),
    {
      what: 'pebble to answer',
    },
  );
  return {
    directory: `https://localhost:${proxy.port}/dir`,
    caBundle: authority.pem,
    counts: proxy.counts,
    get interfere() {
      return proxy.interfere;
    },
    set interfere(next) {
      proxy.interfere = next;
    },
    get answerers() {
      return front.answerers;
    },
    set answerers(next) {
      front.answerers = next;
    },
    manage: management,
    async suggestRenewal(certificate, { start, end }) {
      const suggestedWindow = { start: new Date(start).toISOString(), end: new Date(end).toISOString() };
      const ariResponse = JSON.stringify({ suggestedWindow });
      await management('/set-renewal-info/', { certificate, ariResponse });
    },
    async setTxt(host, value) {
      const path = value === null ? '/clear-txt' : '/set-txt';
      const body = JSON.stringify(value === null ? { host } : { host, value });
      await fetch(`http://127.0.0.1:${dnsManage}${path}`, { method: 'POST', body });
    },
    async stop() {
      await proxy.stop();
      await front.stop();
      for (const child of children) child.stdin?.end();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** $1… is a command line: it ends when our end of the pipe closes, even if this process was killed. */
const watchdog = `
exec 3<&0
"$@" 3<&- </dev/null &
program=$!
( cat <&3 >/dev/null; kill -KILL "$program" ) >/dev/null 2>&1 &
wait "$program"
`;

const port = () => freePort('127.0.0.1', 0);

function configOf(
  { eab, validity, retryAfter }: PebbleOptions,
  at: { readonly dir: string; readonly acme: number; readonly manage: number; readonly http: number },
): object {
  return {
    pebble: {
      listenAddress: `127.0.0.1:${at.acme}`,
      managementListenAddress: `127.0.0.1:${at.manage}`,
      certificate: join(at.dir, 'cert.pem'),
      privateKey: join(at.dir, 'key.pem'),
      httpPort: at.http,
      tlsPort: 5001,
      ocspResponderURL: '',
      externalAccountBindingRequired: eab !== undefined,
      ...(eab === undefined ? {} : { externalAccountMACKeys: eab }),
      domainBlocklist: ['blocked.example.com'],
      retryAfter: retryAfter ?? { authz: 1, order: 1 },
      keyAlgorithm: 'ecdsa',
      profiles: {
        default: { description: 'ordinary', validityPeriod: validity ?? 7_776_000 },
        shortlived: { description: 'six days', validityPeriod: 518_400 },
      },
    },
  };
}

/** Passes HTTP-01 questions to the answerers in turn, so that none of them is special. */
async function startFront() {
  const agent = new HttpAgent();
  let turn = 0;
  const front = { answerers: [] as readonly string[], port: 0, stop: async () => {} };
  const server = createServer((request, response) => {
    const { answerers } = front;
    const first = turn++;
    // As with a Service, a dead one is skipped; each question tries all, however many come at once.
    const ask = (tried: number) => {
      const to = answerers[(first + tried) % Math.max(1, answerers.length)];
      if (to === undefined || tried === answerers.length) return void response.writeHead(502).end();
      const { host } = request.headers;
      const headers = host === undefined ? {} : { host };
      const out = httpRequest(`${to}${request.url}`, { agent, method: request.method, headers });
      out.on('response', (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      out.on('error', () => ask(tried + 1));
      out.end();
    };
    ask(0);
  });
  front.port = await listening(server);
  front.stop = () => closed(server);
  return front;
}

async function startProxy(to: number, { chain, key }: { chain: string; key: string }, ca: string) {
  const agent = new HttpsAgent({ ca, keepAlive: true });
  const counts = new Map<string, number>();
  const proxy = { interfere: (() => undefined) as Interference, port: 0, counts, stop: async () => {} };
  const server = createTlsServer({ cert: chain, key }, async (request, response) => {
    const path = request.url ?? '';
    const kind = kindOf(path);
    const over = new Promise<void>((done) => response.once('close', done));
    const done = await proxy.interfere({ method: request.method ?? '', path, kind, over });
    if (done === 'hangUp') return void request.socket.destroy();
    if (done !== undefined) {
      const type = { 'Content-Type': 'application/problem+json' };
      return void response
        .writeHead(done.status, { ...type, ...done.headers })
        .end(JSON.stringify(done.body ?? {}));
    }
    const count = () => counts.set(kind, (counts.get(kind) ?? 0) + 1);
    // pebble makes its addresses from the Host header: with ours, all of them lead through the proxy.
    const headers = request.headers;
    pass(
      httpsRequest(`https://localhost:${to}${path}`, { agent, method: request.method, headers }),
      request,
      response,
      count,
    );
  });
  proxy.port = await listening(server);
  proxy.stop = () => closed(server);
  return proxy;
}

function kindOf(path: string): string {
  return Object.entries(kinds).find(([start]) => path.startsWith(start))?.[1] ?? path;
}

function pass(
  out: ReturnType<typeof httpRequest>,
  request: IncomingMessage,
  response: ServerResponse,
  onSuccess: () => void = () => {},
): void {
  out.on('response', (answer) => {
    const status = answer.statusCode ?? 502;
    if (status < 400) onSuccess();
    response.writeHead(status, answer.headers);
    answer.pipe(response);
  });
  out.on('error', () => response.destroy());
  request.pipe(out);
}

function listening(server: ReturnType<typeof createServer>): Promise<number> {
  return new Promise((done) => {
    server.listen(0, '127.0.0.1', () => done((server.address() as AddressInfo).port));
  });
}

function closed(server: ReturnType<typeof createServer>): Promise<void> {
  return new Promise((done) => {
    server.close(() => done());
    server.closeAllConnections();
  });
}

function call(url: string, ca: string, body?: object): Promise<{ status: number; text: string }> {
  return new Promise((done, fail) => {
    const method = body === undefined ? 'GET' : 'POST';
    // pebble refuses callers that do not identify themselves.
    const headers = { 'User-Agent': 'test' };
    const request = httpsRequest(url, { ca, method, headers }, (answer) => {
      let text = '';
      answer.on('data', (piece) => {
        text += piece;
      });
      answer.on('end', () => done({ status: answer.statusCode ?? 0, text }));
    });
    request.on('error', fail);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
