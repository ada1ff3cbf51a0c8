/**
 * `orrery token` against the development API: what it prints is a token that Kubernetes accepts, for as long
 * as was asked.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureInspectorAccess } from '../../packages/dev-cluster/manifests.ts';
import { type KubeApi, startKubeApi } from '../../packages/kube-api/server.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import { OrreryError } from '../../src/base/errors.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom as random } from '../../src/base/random.ts';
import { requestToken } from '../../src/cli/token.ts';
import type { Authorize } from '../../src/kube/api/access.ts';
import { connectKube, type KubeConnection } from '../../src/kube/api/kube-connection.ts';
import { refusalError } from '../../src/kube/api/refusals.ts';
import { createKubeAuthorizer } from '../../src/kube/api/token-review.ts';
import { orrery } from './command.ts';

const { signal } = new AbortController();
let cwd: string;
let api: KubeApi;
let kube: KubeConnection;
let authorize: Authorize;
let env: Record<string, string>;

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'orrery-token-'));
  api = await startKubeApi({ serviceCidr: '127.96.0.0/16', clock, random, log: silentLog });
  const kubeconfig = join(cwd, 'kubeconfig');
  writeFileSync(kubeconfig, api.kubeconfig());
  kube = connectKube({ kubeconfig, clock, random });
  authorize = createKubeAuthorizer(kube, clock);
  env = { KUBECONFIG: kubeconfig };
});

afterAll(async () => {
  kube?.close();
  await api?.stop();
  rmSync(cwd, { recursive: true, force: true });
});

test('where Orrery is not installed it says what to do', async () => {
  const { code, out, err } = await orrery(['token'], { cwd, env });
  expect([code, out]).toEqual([1, '']);
  expect(err).toMatch(
    /no service account orrery\/orrery-inspector-view: is Orrery installed there\?.*--namespace/,
  );
});

test('no Role is named where the credentials are wrong, or where nobody answers', async () => {
  const failed = (error: OrreryError) =>
    requestToken({ create: () => Promise.reject(error) }, 'watch', 'orrery-inspector-view', 3_600);
  const body = { kind: 'Status', reason: 'Unauthorized', message: 'Unauthorized' };
  await expect(failed(refusalError({ request: 'POST /token', status: 401, body }, 0))).rejects.toThrow(
    /^POST \/token was answered with 401 Unauthorized: the credentials are not valid, or have expired$/,
  );
  await expect(failed(new OrreryError('KUBE_UNREACHABLE', 'connection refused'))).rejects.toThrow(
    'the Kubernetes API cannot be reached: connection refused (is it the right kubeconfig, or --context?)',
  );
});

test('who may not ask for one is told which Role allows it', async () => {
  const create = () => Promise.reject(new OrreryError('KUBE_REFUSED', 'answered with 403 Forbidden'));
  await expect(requestToken({ create }, 'watch', 'orrery-inspector-view', 3_600)).rejects.toThrow(
    'answered with 403 Forbidden (the Role orrery-kubectl of namespace watch allows it)',
  );
  await expect(requestToken({ create }, 'watch', 'orrery-inspector-operate', 3_600)).rejects.toThrow(
    'a Role of namespace watch has to allow create of serviceaccounts/token for orrery-inspector-operate',
  );
});

test('prints a token that may look and may not send, and with --send one that may', async () => {
  await ensureInspectorAccess(kube, signal);
  const look = await orrery(['token'], { cwd, env });
  expect(look).toMatchObject({ code: 0, out: expect.stringMatching(/^\S+\n$/) });
  expect(look.err).toMatch(/^token of orrery\/orrery-inspector-view, valid until \d{4}-/);
  expect(await authorize(look.out.trim(), 'get', signal)).toMatchObject({ granted: true });
  expect(await authorize(look.out.trim(), 'update', signal)).toMatchObject({ granted: false, status: 403 });
  const send = await orrery(['token', '--send', '--duration', '10m'], { cwd, env });
  expect(await authorize(send.out.trim(), 'update', signal)).toMatchObject({
    granted: true,
    user: 'system:serviceaccount:orrery:orrery-inspector-operate',
  });
});

test.each(['5m', 'soon', '-1h'])('a duration of %s is refused, with what is allowed', async (duration) => {
  const { code, err } = await orrery(['token', `--duration=${duration}`], { cwd, env });
  expect(code).toBe(2);
  expect(err).toMatch(/--duration: ".*" is not allowed; allowed: .*10m/);
});
