/** A replica that cannot reach NATS: it says so to whoever asks, waits, and ends when it is asked to. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { freePort } from '../../packages/dev-cluster/network/ports.ts';
import { runCommandLine } from '../../src/cli/program.ts';
import { until } from '../until.ts';
import { kubeconfigOfNone } from './no-kubernetes.ts';

let directory: string;
let asked: AbortController;
let ended: Promise<number>;
let address: string;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'orrery-run-'));
  writeFileSync(join(directory, 'kubeconfig'), kubeconfigOfNone);
  asked = new AbortController();
  address = `127.0.0.1:${await freePort('127.0.0.1', 0)}`;
  const files = ['--kubeconfig', join(directory, 'kubeconfig')];
  const places = ['--nats', 'nats://127.0.0.1:1', '--http', address, '--acme-http', '127.0.0.1:0'];
  const terminal = { out() {}, err() {}, env: {}, directory, style: (_: unknown, text: string) => text };
  ended = runCommandLine(['run', '--log-level', 'fatal', ...files, ...places], {
    ...terminal,
    interrupted: asked.signal,
  });
});

afterEach(async () => {
  asked.abort();
  await ended;
  rmSync(directory, { recursive: true });
});

const get = (path: string) => fetch(`http://${address}${path}`, { signal: AbortSignal.timeout(30_000) });

test('/readyz says why it is not ready, /livez that it lives, and the API that NATS is away', async () => {
  const ready = await until(() => get('/readyz').catch(() => undefined), { what: 'an answer' });
  expect(ready.status).toBe(503);
  expect(await ready.json()).toEqual({
    ready: false,
    reasons: [
      'NATS is not connected',
      expect.stringMatching(/^NATS cannot be reached: connection refused \(for \d+s\)$/),
    ],
  });
  expect((await get('/livez')).status).toBe(200);
  expect(await (await get('/healthz')).json()).toMatchObject({ healthy: true, nodeEligible: true });
  const api = await get('/api/v1/shards');
  expect([api.status, await api.json()]).toMatchObject([503, { error: { code: 'BUS_UNREACHABLE' } }]);
});

test('whoever is asked to end while NATS was never reached has ended as asked', async () => {
  await until(() => get('/readyz').catch(() => undefined), { what: 'an answer' });
  asked.abort();
  expect(await ended).toBe(0);
});
