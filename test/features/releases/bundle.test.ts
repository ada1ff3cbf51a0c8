/**
 * Reading a bundle: what is right is read, whatever is wrong is said in one line that names file, object and
 * what is expected.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { hasCode } from '../../../src/base/errors.ts';
import { loadBundle } from '../../../src/features/releases/bundle.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'orrery-bundle-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const head = 'release: 0.3.0\nminReconcilerRelease: 0.1.0\nminServingRelease: 0.2.0\n';
const labelled = (name: string) =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: shop, labels: {orrery.dev/builtin: "true"}}\n`;

function write(files: Record<string, string>): string {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(dir, name, '..'), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
  return dir;
}

test('releases, kinds and objects of all manifests are read, in their order; files that are not named are not', () => {
  const bundle = loadBundle(
    write({
      'bundle.yaml': `${head}manifests: [b.yaml, sub/a.yaml]\n`,
      'b.yaml': `${labelled('one')}---\n${labelled('two')}---\n`,
      'sub/a.yaml': `apiVersion: v1\nkind: List\nitems:\n  - {apiVersion: v1, kind: ServiceAccount, metadata: {name: sa, labels: {orrery.dev/builtin: "true"}}}\n`,
      'other.yaml': 'not: {read',
    }),
  );
  expect(bundle).toMatchObject({
    name: 'platform',
    release: '0.3.0',
    minReconciler: '0.1.0',
    minServing: '0.2.0',
  });
  expect(bundle.objects.map(({ metadata }) => metadata.name)).toEqual(['one', 'two', 'sa']);
  expect(bundle.kinds).toEqual([
    { apiVersion: 'v1', kind: 'ConfigMap' },
    { apiVersion: 'v1', kind: 'ServiceAccount' },
  ]);
});

test('§1.6: what the API server sets in an exported manifest is left out', () => {
  const exported = `apiVersion: v1
kind: ConfigMap
metadata:
  name: one
  labels: {orrery.dev/builtin: "true"}
  annotations: {mine: "1"}
  creationTimestamp: null
  generation: 3
  managedFields: [{manager: kubectl, operation: Update}]
  ownerReferences: []
  resourceVersion: "4280"
  selfLink: /api/v1/namespaces/default/configmaps/one
  uid: 736273fc
`;
  const [one] = loadBundle(
    write({ 'bundle.yaml': `${head}manifests: [a.yaml]\n`, 'a.yaml': exported }),
  ).objects;
  expect(Object.keys(one?.metadata ?? {}).sort()).toEqual([
    'annotations',
    'labels',
    'name',
    'ownerReferences',
  ]);
});

test('§1.7: octal numbers and merge keys are read as kubectl reads them', () => {
  const manifest = `apiVersion: example.com/v1
kind: Thing
metadata: {name: one, labels: {orrery.dev/builtin: "true"}}
common: &common {a: 1, b: 2}
spec:
  <<: *common
  b: 3
  modes: [0400, 0644, -017, 0, 0899, 0o17, "0400", 10]
`;
  const [one] = loadBundle(
    write({ 'bundle.yaml': `${head}manifests: [a.yaml]\n`, 'a.yaml': manifest }),
  ).objects;
  expect(one?.spec).toEqual({ a: 1, b: 3, modes: [0o400, 0o644, -0o17, 0, 899, 0o17, '0400', 10] });
});

test('the example is a bundle', () => {
  expect(loadBundle(resolve(import.meta.dirname, '../../../examples/bundle')).objects).toHaveLength(2);
});

test('a bundle may name itself', () => {
  expect(loadBundle(write({ 'bundle.yaml': `name: edge\n${head}manifests: []\n` })).name).toBe('edge');
});

describe('what is wrong ends in a USAGE error', () => {
  const one = `${head}manifests: [a.yaml]\n`;
  test.each<[string, Record<string, string>, RegExp]>([
    ['no bundle.yaml', {}, /bundle\.yaml: ENOENT/],
    ['no YAML', { 'bundle.yaml': 'release: {' }, /bundle\.yaml: /],
    ['no mapping', { 'bundle.yaml': '- x' }, /bundle\.yaml: (must be a mapping|release: is missing)/],
    ['no release', { 'bundle.yaml': head.replace(/^release.*\n/, '') }, /bundle\.yaml: release: is missing/],
    [
      'a release that is none',
      { 'bundle.yaml': `${head.replace('0.3.0', '0.3')}manifests: []` },
      /release: must be a semantic version/,
    ],
    [
      'a release that is a number',
      { 'bundle.yaml': `${head.replace('0.3.0', '1.0')}manifests: []` },
      /release: must be a semantic version/,
    ],
    [
      'a minimum above the release',
      { 'bundle.yaml': `${head.replace('0.2.0', '0.4.0')}manifests: []` },
      /minServingRelease 0\.4\.0 is newer than release 0\.3\.0/,
    ],
    [
      'a misspelt field',
      { 'bundle.yaml': `${head}manifest: []` },
      /bundle\.yaml: (manifest: is not a field here|manifests: is missing)/,
    ],
    ['a file that is not there', { 'bundle.yaml': one }, /a\.yaml: ENOENT/],
    [
      'a file outside',
      { 'bundle.yaml': `${head}manifests: [../a.yaml]` },
      /manifests\.0: must lie within the bundle/,
    ],
    ['an absolute file', { 'bundle.yaml': `${head}manifests: [/etc/passwd]` }, /must lie within the bundle/],
    ['a manifest that is no YAML', { 'bundle.yaml': one, 'a.yaml': 'a: {' }, /a\.yaml: /],
    ['a document that is not an object', { 'bundle.yaml': one, 'a.yaml': 'just text' }, /a\.yaml: /],
    [
      'an object without a name',
      { 'bundle.yaml': one, 'a.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {}' },
      /a\.yaml: object 1: metadata\.name/,
    ],
    [
      'an object of which nothing but its name can be read',
      {
        'bundle.yaml': one,
        'a.yaml': `${labelled('x')}---\n${labelled('y').replace(/labels: {.*}/, 'labels: null}')}`,
      },
      /a\.yaml: ConfigMap y: metadata\.labels: /,
    ],
    ...[
      [/ConfigMap/, '"Config/Map"', /kind: must be a kind, such as ConfigMap/],
      [/apiVersion: v1/, 'apiVersion: a/b/v1', /apiVersion: must be VERSION or GROUP\/VERSION/],
      [/name: x/, 'name: ../x', /metadata\.name: must be the name of an object/],
      [/name: x/, 'name: ".."', /metadata\.name: must be the name of an object/],
      [/namespace: shop/, 'namespace: Shop/a', /metadata\.namespace: must be the name of a Namespace/],
    ].map(([from, to, message]): [string, Record<string, string>, RegExp] => [
      `what no object can have: ${to}`,
      { 'bundle.yaml': one, 'a.yaml': labelled('x').replace(from as RegExp, to as string) },
      message as RegExp,
    ]),
    [
      'an object without the label',
      { 'bundle.yaml': one, 'a.yaml': labelled('x').replace('"true"', '"false"') },
      /a\.yaml: ConfigMap shop\/x does not carry the label orrery\.dev\/builtin: "true"/,
    ],
    [
      'a mark with a value that says nothing',
      {
        'bundle.yaml': one,
        'a.yaml': labelled('x').replace('}}', '}, annotations: {orrery.dev/on-immutable: banana}}'),
      },
      /a\.yaml: ConfigMap shop\/x says orrery\.dev\/on-immutable: "banana"; allowed: "recreate"$/,
    ],
    [
      'the other one, as a label',
      {
        'bundle.yaml': one,
        'a.yaml': labelled('x').replace('}}', ', orrery.dev/adopt: "yes"}}'),
      },
      /a\.yaml: ConfigMap shop\/x says orrery\.dev\/adopt: "yes"; allowed: "true" or "false"$/,
    ],
    [
      'an object twice, once with the namespace that it has without one',
      {
        'bundle.yaml': one,
        'a.yaml': ['namespace: default, ', '']
          .map((in_) => labelled('x').replace(/namespace: shop,? ?/, in_))
          .join('---\n'),
      },
      /ConfigMap (default\/)?x occurs twice/,
    ],
    [
      'an object twice',
      { 'bundle.yaml': one, 'a.yaml': `${labelled('x')}---\n${labelled('x')}` },
      /ConfigMap shop\/x occurs twice/,
    ],
  ])('%s', (_, files, message) => {
    const read = () => loadBundle(write(files));
    expect(read).toThrow(message);
    try {
      read();
    } catch (error) {
      expect(hasCode(error, 'USAGE')).toBe(true);
    }
  });
});

test('each object carries whose it is: <cluster>.<bundle>, or a form of it that a label can hold', () => {
  const labels = { 'orrery.dev/builtin': 'true', 'orrery.dev/bundle': 'somebody-else' };
  const manifest = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', labels } });
  const dir = write({ 'bundle.yaml': `name: edge\n${head}manifests: [a.yaml]\n`, 'a.yaml': manifest });
  expect(loadBundle(dir, 'prod').objects[0]?.metadata.labels).toMatchObject({
    'orrery.dev/bundle': 'prod.edge',
  });
  for (const cluster of ['c'.repeat(63), '_x', '-']) {
    const { id } = loadBundle(dir, cluster);
    expect(id).toMatch(/^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])$/);
    expect(id).not.toBe(loadBundle(dir, `${cluster}y`.slice(-63)).id);
  }
});
