/**
 * The charts, by Helm itself on an API server: installed, upgraded and uninstalled with each set of values;
 * what has to outlive an uninstall does. No Pod runs for it: a server without kubelets is enough. Each
 * object by itself is tried by chart.test.ts, without Helm.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { findHelm } from '../../scripts/chart/helm.ts';
import { valueSets } from '../../scripts/chart/rendering.ts';
import { readYaml, root, yamlFiles } from '../deploy/manifests.ts';
import type { Client, JsonObject } from './client.ts';
import { test as base, isDevelopmentServer, metaOf, namesOf } from './conformance.ts';
import type { Access } from './kubeconfig.ts';

const program = findHelm(process.env);
/** Several processes one after the other, on a machine that may be busy. */
const timeout = 240_000;

type Helm = (...args: readonly string[]) => Promise<string>;

const test = base.extend<{ helm: Helm }>({
  /** Helm for the test's namespace; rejects with what it complains of. */
  helm: async ({ access, namespace }, use) => {
    const home = mkdtempSync(join(tmpdir(), 'orrery-helm-'));
    const kubeconfig = join(home, 'kubeconfig');
    writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(access)));
    const env = { ...process.env, HOME: home, KUBECONFIG: kubeconfig };
    await use(async (...args) => {
      const flags = ['--namespace', namespace];
      // Not in this thread: the development server answers in it.
      return (await promisify(execFile)(program ?? '', [...args, ...flags], { env, cwd: root })).stdout;
    });
    rmSync(home, { recursive: true, force: true });
  },
});

function kubeconfigOf({ url, token, ca, cert, key, skipsVerification }: Access): JsonObject {
  const data = (name: string, bytes: Buffer | undefined) =>
    bytes === undefined ? {} : { [`${name}-data`]: bytes.toString('base64') };
  const cluster = {
    server: url,
    ...data('certificate-authority', ca),
    ...(skipsVerification ? { 'insecure-skip-tls-verify': true } : {}),
  };
  const user = {
    ...(token === undefined ? {} : { token }),
    ...data('client-certificate', cert),
    ...data('client-key', key),
  };
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'it', cluster }],
    users: [{ name: 'it', user }],
    contexts: [{ name: 'it', context: { cluster: 'it', user: 'it' } }],
    'current-context': 'it',
  };
}

/** Instead of what the sets name and this server lacks; and a name that no other installation has. */
const here = (namespace: string) => [
  ...['--set', `fullnameOverride=${namespace}`],
  ...['--set', 'createNamespace=false,metrics.monitor=none,metrics.alerts=false'],
  ...['--set', `namespaces=null,rbac.secretNamespaces={${namespace}}`],
  ...(isDevelopmentServer ? ['--set', 'networkPolicy.enabled=false'] : []),
];

const deployments = (namespace: string) => `/apis/apps/v1/namespaces/${namespace}/deployments`;
const clusterRoles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';

describe.skipIf(program === undefined)('the charts by Helm (skipped where there is none)', () => {
  test.for(valueSets(root))(
    'with examples/%s.yaml: installed, upgraded, uninstalled',
    { timeout },
    async (set, { api, helm, namespace }) => {
      const values = ['--values', `deploy/chart/examples/${set}.yaml`, ...here(namespace)];
      const replicas = async () => {
        const { body } = await api.get(`${deployments(namespace)}/${namespace}`);
        return (body.spec as JsonObject | undefined)?.replicas;
      };
      await helm('install', 'it', 'deploy/chart', ...values);
      expect(await missing(api, namespace, await helm('get', 'manifest', 'it'))).toEqual([]);
      expect(await replicas()).toBe(set === 'small' ? 1 : 3);

      await helm('upgrade', 'it', 'deploy/chart', ...values, '--set', 'replicas=2');
      expect(await replicas()).toBe(2);

      await helm('uninstall', 'it');
      expect(namesOf(await api.get(deployments(namespace)))).toEqual([]);
      expect(namesOf(await api.get(clusterRoles)).filter((name) => name.startsWith(namespace))).toEqual([]);
    },
  );

  test('passwords of NATS are made once and outlive an uninstall', { timeout }, async ({
    api,
    helm,
    namespace,
    core,
  }) => {
    const values = ['--values', 'deploy/chart/examples/small.yaml', ...here(namespace)];
    const passwords = async () => (await api.get(`${core}/secrets/${namespace}-nats`)).body.data;
    await helm('install', 'it', 'deploy/chart', ...values);
    const first = await passwords();
    expect(Object.keys(first as object)).not.toEqual([]);

    await helm('upgrade', 'it', 'deploy/chart', ...values);
    expect(await passwords()).toEqual(first);
    const larger = helm('upgrade', 'it', 'deploy/chart', ...values, '--set', 'nats.storage.size=99Gi');
    await expect(larger).rejects.toThrow(/nats\.storage/);

    await helm('uninstall', 'it');
    expect(await passwords()).toEqual(first);
  });

  test('what kubectl applied is taken over, and upgraded from then on (docs/operating.md, Upgrading)', {
    timeout,
  }, async ({ api, helm, namespace }) => {
    const values = ['--values', 'deploy/chart/examples/kustomize.yaml', ...here(namespace)];
    const [deployment] = objectsIn(await helm('template', 'it', 'deploy/chart', ...values)).filter(
      ({ kind }) => kind === 'Deployment',
    );
    const byKubectl = `${deployments(namespace)}?fieldManager=kubectl-client-side-apply`;
    const made = await api.post(byKubectl, deployment as JsonObject);
    expect(made.code).toBe(201);

    // Helm 3 knows no other way, nor the flag.
    const way = (await helm('version', '--short')).startsWith('v3') ? [] : ['--server-side=false'];
    await helm('install', 'it', 'deploy/chart', ...values, '--take-ownership', ...way);
    await helm('upgrade', 'it', 'deploy/chart', ...values, '--set', 'replicas=2');
    const { body } = await api.get(`${deployments(namespace)}/${namespace}`);
    expect(body.spec).toMatchObject({ replicas: 2 });
    expect(metaOf(body).uid).toBe(metaOf(made.body).uid);
  });

  test('the definitions, that of ExternalWorkload too, outlive an uninstall with their objects', {
    timeout,
  }, async ({ api, helm, namespace }) => {
    const definitions = yamlFiles('deploy/crds').flatMap((name) => readYaml(`deploy/crds/${name}`));
    const names = definitions.map(({ metadata }) => metadata.name);
    for (const name of names) await giveTo(api, name, { release: 'definitions', namespace });
    const all = ['--set', 'externalWorkloadCRD=true'];
    await helm('install', 'definitions', 'deploy/chart-crds', ...all, '--wait');
    const elections = `/apis/orrery.dev/v1alpha1/namespaces/${namespace}/elections`;
    const election = { apiVersion: 'orrery.dev/v1alpha1', kind: 'Election', metadata: { name: 'till' } };
    await expect.poll(async () => (await api.post(elections, election)).code, { timeout: 20_000 }).toBe(201);

    await helm('upgrade', 'definitions', 'deploy/chart-crds', ...all);
    await helm('uninstall', 'definitions');
    expect(namesOf(await api.get(crds))).toEqual(expect.arrayContaining(names));
    expect(namesOf(await api.get(elections))).toEqual(['till']);
  });
});

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** As `helm install --take-ownership` does: other tests may have applied the definition before. */
async function giveTo(
  api: Client,
  name: string,
  { release, namespace }: { readonly release: string; readonly namespace: string },
): Promise<void> {
  await api.patch(`${crds}/${name}`, 'merge', {
    metadata: {
      labels: { 'app.kubernetes.io/managed-by': 'Helm' },
      annotations: { 'meta.helm.sh/release-name': release, 'meta.helm.sh/release-namespace': namespace },
    },
  });
}

const objectsIn = (manifest: string): readonly JsonObject[] =>
  parseAllDocuments(manifest)
    .map((one) => one.toJS() as JsonObject | null)
    .filter((one) => one !== null);

/** Deployments, Services, accounts and roles of a manifest that the server does not have. */
async function missing(api: Client, namespace: string, manifest: string): Promise<readonly string[]> {
  const places: Readonly<Record<string, string>> = {
    Deployment: deployments(namespace),
    StatefulSet: `/apis/apps/v1/namespaces/${namespace}/statefulsets`,
    Service: `/api/v1/namespaces/${namespace}/services`,
    ServiceAccount: `/api/v1/namespaces/${namespace}/serviceaccounts`,
    ClusterRole: clusterRoles,
  };
  const paths = objectsIn(manifest).flatMap((one) => {
    const place = places[String(one.kind)];
    return place === undefined ? [] : [`${place}/${metaOf(one).name}`];
  });
  expect(paths.length).toBeGreaterThan(3);
  const codes = await Promise.all(paths.map(async (path) => [path, (await api.get(path)).code] as const));
  return codes.filter(([, code]) => code !== 200).map(([path]) => path);
}
