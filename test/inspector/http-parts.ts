/** A replica's HTTP with answers from the test. */

import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Clock } from '../../src/base/clock.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { ActorSummary, ControlPort, DropAnswer, SendAnswer } from '../../src/base/views.ts';
import { type HealthReport, healthAnswer, replyOf } from '../../src/features/proxiers/health-body.ts';
import { createPageFiles } from '../../src/inspector/http/page-files.ts';
import { createHttp, type HttpServerParts } from '../../src/inspector/http/server.ts';
import type { Authorize } from '../../src/kube/api/access.ts';
import { everybodyMay } from '../../src/kube/api/access.ts';
import { charts } from '../../src/replica/charts.ts';
import { createMetrics } from '../../src/replica/metrics.ts';

export const webPod: ActorSummary = {
  id: 'pod/shop/web-0',
  state: 'gated.proving.asking',
  since: 1_000,
  owner: 'r1',
  shard: 12,
  rev: 3,
  nextTimer: null,
  lastError: null,
  parked: false,
  reason: { text: 'it is asked for', health: 'waiting', since: 1_000, next: null },
};

/** Knows one Pod; records what was asked. */
export function scriptedControl(overrides: Partial<ControlPort> = {}): ControlPort & { asked: unknown[] } {
  const asked: unknown[] = [];
  return {
    asked,
    get: async (id) => {
      asked.push(id);
      if (id !== webPod.id) return null;
      const more = { machine: 'pod', machineVersion: 1, meaning: [], fence: 7, context: {}, timers: [] };
      return { ...webPod, ...more, pending: [], recent: [], accepts: [], facts: [] };
    },
    list: async (request) => {
      asked.push(request);
      return { actors: [webPod], next: null, missingShards: [] };
    },
    shards: async () => ({ replicas: [], shards: [] }),
    send: async () => ({ accepted: true, transition: null }),
    ...overrides,
  };
}

/** One dead letter, 17; notes what is done with it. */
export function scriptedLetters() {
  const done: string[] = [];
  const missing = { code: 'LETTER_MISSING', reason: 'there is no such letter' };
  const letter = { sequence: 17, at: 0, subject: 's', error: 'ACTOR_MISSING: there is no actor', body: '{}' };
  return {
    done,
    dead: async () => ({ letters: [letter], next: null }),
    resend: async (sequence: number, by?: string): Promise<SendAnswer> => {
      done.push(`resend ${sequence} ${by}`);
      return sequence === 17 ? { accepted: true, transition: null } : { accepted: false, ...missing };
    },
    drop: async (sequence: number, by?: string): Promise<DropAnswer> => {
      done.push(`drop ${sequence} ${by}`);
      return sequence === 17 ? { dropped: true } : { dropped: false, ...missing };
    },
  };
}

export function httpOptions(overrides: Partial<HttpServerParts> = {}): HttpServerParts {
  return {
    host: '127.0.0.1',
    port: 0,
    control: scriptedControl(),
    letters: scriptedLetters(),
    readiness: () => ({ ready: true, reasons: [] }),
    health: healthOf(() => ({ families: {}, nodeEligible: true, timeoutMs: 30_000 }), systemClock),
    featurePaths: [],
    charts,
    metrics: createMetrics(),
    clock: systemClock,
    authorize: everybodyMay,
    hosts: 'any',
    stored: { history: async () => ({ steps: [], next: null }) },
    history: async () => ({ steps: [], left: 0 }),
    files: createPageFiles(),
    live: () => ({ take() {}, end() {} }),
    ...overrides,
  };
}

/** Lets callers in who give the token `good`; `known` is somebody who may not. */
export const byToken: Authorize = async (token) => {
  if (token === 'good') return { granted: true, user: 'ann' };
  if (token === 'known')
    return { granted: false, status: 403, reason: 'bob may not get inspector.orrery.dev' };
  return { granted: false, status: 401, reason: 'a bearer token is needed' };
};

/** Health as a replica reports it, from the state of its pipelines. */
export function healthOf(report: () => HealthReport, clock: Pick<Clock, 'now'>): HttpServerParts['health'] {
  return (endpoint) => replyOf(healthAnswer(endpoint, report(), clock.now()));
}

export interface Injected {
  readonly method?: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON, unless it is text. */
  readonly payload?: unknown;
}

/** One request to a server that listens only that long. */
export async function inject(
  overrides: Partial<HttpServerParts>,
  { url, method = 'GET', headers = {}, payload }: Injected,
) {
  const server = createHttp(httpOptions(overrides)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const json = payload === undefined ? {} : { 'content-type': 'application/json' };
  const asked = request({ port, path: url, method, headers: { ...json, ...headers }, agent: false });
  asked.end(typeof payload === 'object' ? JSON.stringify(payload) : payload);
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  const body = await text(answer);
  server.close();
  return {
    statusCode: answer.statusCode ?? 0,
    headers: answer.headers,
    body,
    json: () => JSON.parse(body),
  };
}
