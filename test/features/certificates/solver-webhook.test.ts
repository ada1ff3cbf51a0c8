/**
 * Solvers that were written for cert-manager: what they are asked, and what their answers mean; a stand-in
 * over HTTP.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { askSolver } from '../../../src/features/certificates/solvers/solver-webhook.ts';
import { connectKube, type KubeConnection } from '../../../src/kube/api/kube-connection.ts';

const { signal } = new AbortController();
const exhibit = {
  kind: 'solver',
  groupName: 'acme.example.com',
  solverName: 'my-dns',
  config: { zoneId: 7, tokenSecretRef: { name: 'token', key: 'value' } },
  namespace: 'orrery',
  dnsName: '*.shop.example.com',
  fqdn: '_acme-challenge.shop.example.com',
  zone: 'example.com',
  value: 'digest',
} as const;

interface Asked {
  readonly path: string | undefined;
  readonly body: { readonly request: { readonly uid: string } };
}

let server: Server;
let kube: KubeConnection;
let dir: string;
afterEach(() => {
  kube.close();
  server.close();
  rmSync(dir, { recursive: true, force: true });
});

/** An aggregated API: what the API server would pass on to the solver. */
async function solver(
  answer: (asked: Asked) => { readonly status: number; readonly body: object },
): Promise<Asked[]> {
  const heard: Asked[] = [];
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (piece) => {
      text += piece;
    });
    request.on('end', () => {
      const asked = { path: request.url, body: JSON.parse(text) };
      heard.push(asked);
      const { status, body } = answer(asked);
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  dir = mkdtempSync(join(tmpdir(), 'orrery-solver-'));
  const named = {
    clusters: [{ name: 'a', cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: 'a', user: {} }],
  };
  const contexts = [{ name: 'a', context: { cluster: 'a', user: 'a' } }];
  const config = { apiVersion: 'v1', kind: 'Config', 'current-context': 'a', contexts, ...named };
  writeFileSync(join(dir, 'config'), JSON.stringify(config));
  kube = connectKube({ kubeconfig: join(dir, 'config'), clock: systemClock, random: systemRandom });
  return heard;
}

/** As cert-manager's own library answers: without metadata. */
const said = ({ body }: Asked, response: object) => ({
  status: 200,
  body: {
    kind: 'ChallengePayload',
    apiVersion: 'webhook.acme.cert-manager.io/v1alpha1',
    response: { uid: body.request.uid, ...response },
  },
});

test('it is asked with a ChallengePayload at its own group', async () => {
  const heard = await solver((asked) => said(asked, { success: true }));
  await askSolver(kube, exhibit, { action: 'Present', uid: 'run-1' }, signal);
  await askSolver(kube, exhibit, { action: 'CleanUp', uid: 'run-2' }, signal);
  const request = {
    type: 'dns-01',
    dnsName: '*.shop.example.com',
    key: 'digest',
    resourceNamespace: 'orrery',
    resolvedFQDN: '_acme-challenge.shop.example.com.',
    resolvedZone: 'example.com.',
    allowAmbientCredentials: false,
    config: exhibit.config,
  };
  const asked = (action: string, uid: string) => ({
    path: '/apis/acme.example.com/v1alpha1/my-dns',
    body: {
      apiVersion: 'webhook.acme.cert-manager.io/v1alpha1',
      kind: 'ChallengePayload',
      request: { uid, action, ...request },
    },
  });
  expect(heard).toEqual([asked('Present', 'run-1'), asked('CleanUp', 'run-2')]);
});

test('its refusal is told in its own words', async () => {
  await solver((asked) =>
    said(asked, { success: false, status: { message: 'no such zone', reason: 'NotFound' } }),
  );
  await expect(askSolver(kube, exhibit, { action: 'Present', uid: 'u' }, signal)).rejects.toMatchObject({
    code: 'ACME_REFUSED',
    message: 'solver my-dns of acme.example.com, Present _acme-challenge.shop.example.com: no such zone',
  });
});

test('an answer to another question is none', async () => {
  await solver((asked) => said(asked, { success: true, uid: 'somebody' }));
  await expect(askSolver(kube, exhibit, { action: 'Present', uid: 'u' }, signal)).rejects.toThrow(
    'another question',
  );
});

test('one that is not installed, or that we may not ask, is told as Kubernetes tells it', async () => {
  await solver(() => ({
    status: 403,
    body: { kind: 'Status', code: 403, message: 'cannot create resource "my-dns"' },
  }));
  await expect(askSolver(kube, exhibit, { action: 'Present', uid: 'u' }, signal)).rejects.toMatchObject({
    code: 'KUBE_REFUSED',
    message: expect.stringContaining('cannot create resource'),
  });
});
