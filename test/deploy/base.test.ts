/** The manifests hold together: what one names exists in another, and Orrery may do no more than it needs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type HttpParts, routes } from '../../src/inspector/http/routes.ts';
import { environmentName, readRunConfig, runFlags } from '../../src/replica/config.ts';
import { baseManifests, readYaml, root, yamlFiles } from './manifests.ts';

interface Container {
  readonly args: string[];
  readonly env: { readonly name: string; readonly value?: string }[];
  readonly ports: { readonly name: string; readonly containerPort: number }[];
  readonly resources: { readonly requests: object; readonly limits: { readonly memory?: string } };
  readonly securityContext: Record<string, unknown>;
  readonly [probe: string]: unknown;
}
interface PodSpec {
  readonly serviceAccountName: string;
  readonly containers: [Container];
  readonly securityContext: Record<string, unknown>;
}

const manifests = baseManifests();
function spec<T>(kind: string): T {
  const manifest = manifests.find((one) => one.kind === kind);
  if (!manifest) throw new Error(`there is no ${kind} in deploy/base`);
  return manifest.spec as T;
}
const deployment = spec<{
  replicas: number;
  selector: { matchLabels: object };
  template: { metadata: { labels: object }; spec: PodSpec };
}>('Deployment');
const pod = deployment.template.spec;
const [container] = pod.containers;

describe('kustomize', () => {
  const resources = (path: string) => readYaml(path)[0]?.resources;

  test('deploy/base names each of its files', () => {
    const files = yamlFiles('deploy/base').filter((name) => name !== 'kustomization.yaml');
    expect([resources('deploy/base/kustomization.yaml')].flat().sort()).toEqual(files);
  });

  test('deploy adds every custom resource', () => {
    const files = yamlFiles('deploy/crds').map((name) => `crds/${name}`);
    expect([resources('deploy/kustomization.yaml')].flat().sort()).toEqual(['base', ...files].sort());
  });

  test('every other file of deploy/ is readable too', () => {
    for (const name of yamlFiles('deploy/presets')) {
      expect(readYaml(`deploy/presets/${name}`).every(({ metadata }) => metadata.name !== '')).toBe(true);
    }
  });
});

describe('the replicas', () => {
  test('there are three, and Service, budget and spread select them', () => {
    const labels = deployment.template.metadata.labels;
    expect(deployment.replicas).toBe(3);
    expect(labels).toMatchObject(deployment.selector.matchLabels);
    expect(labels).toMatchObject(spec<{ selector: object }>('Service').selector);
    expect(labels).toMatchObject(
      spec<{ selector: { matchLabels: object } }>('PodDisruptionBudget').selector.matchLabels,
    );
  });

  test('their environment is made of flags that exist, with values that are allowed', () => {
    const known = [
      ...Object.keys(runFlags).map(environmentName),
      'MALLOC_ARENA_MAX',
      'NATS_URL',
      'NODE_NAME',
      'NODE_OPTIONS',
      'POD_NAMESPACE',
    ];
    expect(container.env.map(({ name }) => name).filter((name) => !known.includes(name))).toEqual([]);
    // Kubernetes puts what stands before into what follows.
    const env = Object.fromEntries(
      container.env.map(({ name, value }) => [name, value?.replace('$(POD_NAMESPACE)', 'orrery')]),
    );
    expect(readRunConfig({}, env)).toMatchObject({
      streamReplicas: 3,
      http: { port: container.ports[0]?.containerPort },
    });
  });

  test('their heap leaves a third of the memory that they may use to what lies outside of it', () => {
    const units: Readonly<Record<string, number>> = { Mi: 1, Gi: 1024 };
    const { NODE_OPTIONS = '' } = Object.fromEntries(container.env.map(({ name, value }) => [name, value]));
    const megabytes = (text: string | undefined) => Number(/\d+/.exec(text ?? '')?.[0]);
    const heap = megabytes(/--max-old-space-size=\d+/.exec(NODE_OPTIONS)?.[0]);
    expect(heap).toBeGreaterThan(0);
    const { memory = '' } = container.resources.limits;
    expect(heap).toBeLessThan((megabytes(memory) * (units[memory.slice(-2)] ?? 0) * 2) / 3);
  });

  test.each(['startupProbe', 'livenessProbe', 'readinessProbe'])(
    '%s asks a path that is answered without a token',
    (probe) => {
      const { httpGet } = container[probe] as { httpGet: { path: string; port: string } };
      const open = routes({ featurePaths: [], charts: [] } as unknown as HttpParts).filter(
        (route) => route.open,
      );
      expect(open.map(({ path }) => path)).toContain(httpGet.path);
      expect(container.ports.map(({ name }) => name)).toContain(httpGet.port);
    },
  );

  test('they run without rights on a file system that they cannot write', () => {
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(pod.securityContext.runAsUser).toBeGreaterThan(0);
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(container.resources.limits.memory).toBeDefined();
  });
});

describe('access', () => {
  test('every binding names a role and an account that exist', () => {
    const names = (kind: string) =>
      manifests.filter((one) => one.kind === kind).map(({ metadata }) => metadata.name);
    for (const binding of manifests.filter(({ kind }) => kind === 'ClusterRoleBinding')) {
      const { roleRef, subjects } = binding as unknown as {
        roleRef: { name: string };
        subjects: { name: string }[];
      };
      expect(names('ClusterRole')).toContain(roleRef.name);
      for (const { name } of subjects) expect(names('ServiceAccount')).toContain(name);
    }
    expect(names('ServiceAccount')).toContain(pod.serviceAccountName);
  });
});

describe('Dockerfile', () => {
  const text = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8');
  const ignored = readFileSync(join(root, '.dockerignore'), 'utf8');

  test('the image runs as a numbered user on a Node that is new enough', () => {
    expect(text).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m);
    const [, major] = /^ARG NODE_IMAGE=node:(\d+)-slim$/m.exec(text) ?? [];
    expect(Number(major)).toBeGreaterThanOrEqual(24);
  });

  test('every stage is built on the one base image, whose digest may be pinned from outside', () => {
    const bases = [...text.matchAll(/^FROM (\S+)/gm)].map(([, base = '']) => base);
    expect(bases.length).toBeGreaterThan(1);
    for (const base of bases) expect(base).toMatch(/^\$\{NODE_IMAGE\}$/);
  });

  test('what it copies is let through by .dockerignore', () => {
    const copied = [...text.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, names = '']) =>
      names.split(' '),
    );
    expect(copied).toContain('src');
    for (const name of copied) expect(ignored.split('\n')).toContain(`!${name}`);
  });
});
