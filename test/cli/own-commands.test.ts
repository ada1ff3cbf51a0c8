/** `orrery new-feature` and `orrery access`, as somebody uses them in an empty folder. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { compiled } from '../suite/compiled.ts';

const root = join(import.meta.dirname, '../..');
const program = join(root, 'node_modules/.bin/node');
let folder: string;

const run = (...args: readonly string[]) =>
  spawnSync(program, args, {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env.PATH ?? '', NODE_COMPILE_CACHE: compiled },
  });
const orrery = (...args: readonly string[]) => run(join(root, 'src/main.ts'), ...args);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'orrery-own-commands-'));
  // As if the package were installed.
  const entries = { orrery: 'src/api/index.ts', 'orrery/testing': 'packages/testing/index.ts' };
  const files = Object.entries(entries).map(([name, file]) => [name, `file://${join(root, file)}`]);
  writeFileSync(
    join(folder, 'installed.mjs'),
    `import { registerHooks } from 'node:module';
     const files = ${JSON.stringify(Object.fromEntries(files))};
     registerHooks({ resolve: (name, context, next) => name in files ? { url: files[name], shortCircuit: true } : next(name, context) });`,
  );
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('what new-feature writes runs: its tests pass, its chart is drawn, its rights are told', () => {
  const written = orrery('new-feature', 'drain', '--kind', 'nodedrain', '--watch', 'v1/Node');
  expect(written).toMatchObject({ status: 0, stderr: '' });
  expect(written.stdout).toContain('Now: node --test\n');
  const own = run('--import', './installed.mjs', '--test');
  expect(own.stdout).toContain('pass 4');
  // The tests notice what the program would let pass: a state without an end.
  const file = join(folder, 'drain/feature.ts');
  const right = readFileSync(file, 'utf8');
  writeFileSync(file, right.replace(/ *after: \{ patience.*\n/, ''));
  expect(run('--import', './installed.mjs', '--test').stdout).toMatch(/working/);
  writeFileSync(file, right);
  const drawn = orrery('chart', 'nodedrain', '--feature', './drain');
  expect(drawn.stdout).toContain('nodedrain, version 1: Does once what the annotation of a Node asks for.');
  expect(readFileSync(join(folder, 'drain/access.yaml'), 'utf8')).toContain('resources: ["nodes"]');
  const again = orrery('new-feature', 'drain');
  expect(again).toMatchObject({ status: 2, stderr: 'error: drain/feature.ts already exists\n' });
  const wrong = orrery('new-feature', 'other', '--watch', 'Node');
  expect(wrong).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('--watch: "Node" is not allowed'),
  });
});

test('access prints the roles as one file for kubectl, and the permissions of NATS', () => {
  const feature = ['--feature', './drain', '--cluster', 'test'];
  const [role] = parseAllDocuments(orrery('access', ...feature).stdout).map((one) => one.toJSON());
  expect(role).toMatchObject({ kind: 'ClusterRole', metadata: { name: 'orrery' } });
  expect(role.rules).toContainEqual({
    apiGroups: [''],
    resources: ['nodes'],
    verbs: ['get', 'list', 'watch'],
  });
  const json = JSON.parse(orrery('access', ...feature, '-o', 'json').stdout);
  expect(json.nats.people).toContain('orrery.test.send.nodedrain.*.*');
});
