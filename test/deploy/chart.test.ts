/**
 * The chart and what it comes to: the renderings are of the chart as it is, values that nobody reads are
 * refused, and Orrery may do what the features that are on declare, and nothing else.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findHelm, runHelm } from '../../scripts/chart/helm.ts';
import { placeOf, render, sources, sourcesOf, valueSets } from '../../scripts/chart/rendering.ts';
import { type ChartRule, chartRights, clusterScoped } from '../../scripts/chart/rights.ts';
import type { Need } from '../../src/actors/need.ts';
import { runFlags } from '../../src/replica/config.ts';
import type { FeatureName } from '../../src/replica/feature-names.ts';
import { featuresOf } from '../../src/replica/features.ts';
import { rightsOf } from '../../src/replica/rights.ts';
import { type Manifest, readYaml, root } from './manifests.ts';

const helm = findHelm(process.env);
const rendered = (set: string) => readYaml(placeOf(set));

describe('renderings', () => {
  test('are of the chart as it is (else: npm run chart)', () => {
    expect(readFileSync(join(root, sources), 'utf8')).toBe(sourcesOf(root));
  });

  // A process for each set of values, on a machine that may be busy.
  test.skipIf(helm === undefined)('are what Helm makes of it (skipped where there is none)', () => {
    for (const [path, text] of render(root, helm ?? '')) {
      expect(readFileSync(join(root, path), 'utf8'), path).toBe(text);
    }
  });

  test.skipIf(helm === undefined).each(['chart', 'chart-crds'])(
    'Helm has nothing to say against %s (skipped where there is none)',
    (chart) => {
      const { status, stdout } = spawnSync(helm ?? '', ['lint', '--strict', join(root, 'deploy', chart)], {
        encoding: 'utf8',
      });
      expect([status, stdout]).toEqual([0, expect.stringContaining('0 chart(s) failed')]);
    },
  );
});

test.skipIf(helm === undefined)('alerts lead to where the pages are hosted (skipped without Helm)', () => {
  const values = ['--values', join(root, 'deploy/chart/examples/whole.yaml')];
  const manifests = runHelm(helm ?? '', ['template', 'orrery', join(root, 'deploy/chart'), ...values]);
  const links = [...manifests.matchAll(/runbook_url: (\S+)/g)].map(([, link = '']) => link);
  expect(links.length).toBeGreaterThan(20);
  const elsewhere = links.filter((link) => !link.startsWith('https://wiki.example.com/orrery/alerts.md#'));
  expect(elsewhere).toEqual([]);
});

describe('values', () => {
  const schema = JSON.parse(readFileSync(join(root, 'deploy/chart/values.schema.json'), 'utf8'));

  test('each that is there is one that the schema knows, and the other way round', () => {
    const [values] = readYaml('deploy/chart/values.yaml');
    expect(
      Object.keys(schema.properties)
        .filter((name) => name !== 'global')
        .sort(),
    ).toEqual(Object.keys(values ?? {}).sort());
  });

  test('a flag can be given as a value of its own, or under `flags`', () => {
    const own = [
      ...[
        'cluster',
        'nats',
        'nats-ca',
        'nats-creds',
        'stream-replicas',
        'replica',
        'feature',
        'bundle',
        'namespaces',
      ],
      ...['without', 'http-cert', 'http-key', 'health-http', 'acme-service', 'metrics-auth'],
    ];
    // Of the Pod itself: its service account, its ports, and who is let in, which only a loopback address may
    // change.
    const fixed = ['kubeconfig', 'http', 'acme-http', 'inspector-auth'];
    const free: string[] = schema.properties.flags.propertyNames.enum;
    expect([...own, ...fixed, ...free].sort()).toEqual(Object.keys(runFlags).sort());
  });
});

interface Rule {
  readonly apiGroups: string[];
  readonly resources: string[];
  readonly verbs: string[];
}

/** `group/resource: verb` of each, once. */
const pairsOf = (rules: readonly Rule[]) =>
  [
    ...new Set(
      rules.flatMap(({ apiGroups, resources, verbs }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) => verbs.map((verb) => `${group}/${resource}: ${verb}`)),
        ),
      ),
    ),
  ].sort();

const ruleOf = ({ apiGroup, resources, verbs }: Need): Rule => ({
  apiGroups: [apiGroup],
  resources: [...resources],
  verbs: [...verbs],
});

/** Rules of the roles that Orrery's own account is bound to, by where they hold: `*`, or a namespace. */
function granted(manifests: readonly Manifest[], account: string): ReadonlyMap<string, Rule[]> {
  const places = new Map<string, Rule[]>();
  for (const binding of manifests.filter(({ kind }) => /^(Cluster)?RoleBinding$/.test(kind))) {
    const { subjects, roleRef, metadata } = binding as unknown as {
      subjects: { name: string }[];
      roleRef: { kind: string; name: string };
      metadata: { namespace?: string };
    };
    if (!subjects.some(({ name }) => name === account)) continue;
    const role = manifests.find((one) => one.kind === roleRef.kind && one.metadata.name === roleRef.name);
    if (role === undefined) throw new Error(`there is no ${roleRef.kind} ${roleRef.name}`);
    const place = binding.kind === 'ClusterRoleBinding' ? '*' : (metadata.namespace ?? '');
    places.set(place, [...(places.get(place) ?? []), ...((role.rules ?? []) as Rule[])]);
  }
  return places;
}

describe('rights', () => {
  const declared = (isOwn: boolean, without: readonly FeatureName[] = []) =>
    rightsOf(featuresOf({}, without))
      .filter(({ isOwnNamespace }) => (isOwnNamespace === true) === isOwn)
      .map(ruleOf);

  test('Orrery may do exactly what its features and the replica itself declare', () => {
    const places = granted(rendered('kustomize'), 'orrery');
    expect([...places.keys()].sort()).toEqual(['*', 'orrery']);
    expect(pairsOf(places.get('*') ?? [])).toEqual(pairsOf(declared(false)));
    expect(pairsOf(places.get('orrery') ?? [])).toEqual(pairsOf(declared(true)));
  });

  test('for a feature that is off it has none, and in namespaces that it does not watch neither', () => {
    const places = granted(rendered('some-features'), 'orrery');
    const off = ['endpoints', 'certificates', 'releases', 'proxiers'] as const;
    const all = declared(false, off);
    const clusterWide = all.filter(({ resources }) =>
      /nodes|namespaces|events|reviews/.test(resources.join()),
    );
    expect([...places.keys()].sort()).toEqual(['*', 'bank', 'shop']);
    expect(pairsOf(places.get('*') ?? [])).toEqual(pairsOf(clusterWide));
    for (const namespace of ['bank', 'shop']) {
      expect(pairsOf(places.get(namespace) ?? [])).toEqual(
        pairsOf(all.filter((rule) => !clusterWide.includes(rule))),
      );
    }
  });

  test('what has no namespace is granted in the whole cluster, whatever it is declared beside', () => {
    const isClusterScoped = (resource: string) => clusterScoped.has(resource.split('/')[0] ?? '');
    for (const [feature, { cluster = [], ...others }] of Object.entries(chartRights(featuresOf()).features)) {
      const elsewhere = Object.values(others).flat();
      const named = (rules: readonly ChartRule[]) => rules.flatMap(({ resources }) => resources);
      expect([feature, named(elsewhere).filter(isClusterScoped)]).toEqual([feature, []]);
      expect([feature, named(cluster).filter((one) => !isClusterScoped(one))]).toEqual([feature, []]);
    }
  });

  test('a role that Kubernetes fills states no rules: they would conflict with its own at an upgrade', () => {
    const filled = rendered('whole').filter((one) => 'aggregationRule' in one);
    expect(filled.map(({ metadata }) => metadata.name)).toEqual(['orrery-group-resources', 'orrery-bundle']);
    expect(filled.filter((one) => 'rules' in one)).toEqual([]);
  });

  test('those of a feature of your own are added', () => {
    const places = granted(rendered('own-feature'), 'drains');
    const extra = ['/nodes: patch', '/pods/eviction: create'];
    expect(pairsOf(places.get('*') ?? [])).toEqual(expect.arrayContaining(extra));
    // Secrets where it was told, and nowhere else.
    const reaching = [...places].flatMap(([place, rules]) =>
      pairsOf(rules).some((pair) => pair.startsWith('/secrets:')) ? [place] : [],
    );
    expect(reaching).toEqual(['shop']);
  });

  test.each(valueSets(root))('%s: no role has a wildcard, and one alone reaches Secrets', (set) => {
    const roles = rendered(set).filter(({ kind }) => /^(Cluster)?Role$/.test(kind));
    const reaching = (pattern: RegExp) =>
      roles.flatMap(({ metadata, rules = [] }) =>
        pairsOf(rules as Rule[]).some((pair) => pattern.test(pair)) ? [metadata.name] : [],
      );
    expect(reaching(/[*]|configmaps/)).toEqual([]);
    expect(reaching(/secrets/)).toEqual(
      { 'some-features': [], 'own-feature': ['drains-secrets'] }[set] ?? ['orrery-secrets'],
    );
  });
});

describe('the environment of the replicas', () => {
  interface Env {
    readonly name: string;
    readonly value?: string;
  }
  const envOf = (set: string): Record<string, string | undefined> => {
    const deployment = rendered(set).find(({ kind }) => kind === 'Deployment');
    const { template } = (deployment?.spec ?? {}) as { template: { spec: { containers: [{ env: Env[] }] } } };
    return Object.fromEntries(template.spec.containers[0].env.map(({ name, value }) => [name, value]));
  };

  test('names the features that are off, the namespaces, and any flag', () => {
    expect(envOf('some-features')).toMatchObject({
      ORRERY_WITHOUT: 'endpoints,certificates,releases,proxiers',
      ORRERY_NAMESPACES: 'bank,shop',
      ORRERY_NATS_CREDS: '/etc/orrery/nats/user.creds',
    });
    expect(envOf('own-feature')).toMatchObject({ ORRERY_FEATURES: '/opt/drains/feature.js' });
    expect(envOf('some-features')).not.toHaveProperty('ORRERY_NATS_CA');
    expect(envOf('whole')).toMatchObject({ ORRERY_LOG_LEVEL: 'debug', ORRERY_PROXIER_HEALTH_TIMEOUT: '90' });
  });

  test('asks for as many copies of a stream as its own NATS has servers for', () => {
    expect([envOf('small'), envOf('whole')].map((env) => env.ORRERY_STREAM_REPLICAS)).toEqual(['1', '3']);
  });
});
