/**
 * The examples' own tests, run as their users run them: by Node's test runner, on the memory bus and a
 * Kubernetes in memory.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { feature as janitor } from '../../examples/namespace-janitor/feature.ts';
import { feature as nodeDrain } from '../../examples/node-drain/feature.ts';
import { rightsOf } from '../../src/replica/rights.ts';
import { compiled } from '../suite/compiled.ts';
import { builtPackage } from '../suite/package.ts';

const root = join(import.meta.dirname, '../..');

test.each(['node-drain', 'namespace-janitor'])('%s keeps its promises', { timeout: 120_000 }, (example) => {
  // Within the folder of a package its name leads to that package: to the built one, and not to the sources.
  const dir = mkdtempSync(join(tmpdir(), 'orrery-examples-'));
  try {
    cpSync(join(builtPackage(), 'package.json'), join(dir, 'package.json'));
    symlinkSync(join(builtPackage(), 'dist'), join(dir, 'dist'));
    symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
    cpSync(join(root, 'examples', example), join(dir, 'examples', example), { recursive: true });
    const files = `examples/${example}/**/*.test.ts`;
    const once = { NODE_TEST_CONTEXT: undefined, UPDATE_TRANSCRIPTS: '0', NODE_COMPILE_CACHE: compiled };
    const { status, stdout } = spawnSync(join(root, 'node_modules/.bin/node'), ['--test', files], {
      cwd: dir,
      env: { ...process.env, ...once },
      encoding: 'utf8',
    });
    expect(stdout).toMatch(/^ℹ pass [1-9]/m);
    expect({ status, said: status === 0 ? '' : stdout }).toEqual({ status: 0, said: '' });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

test('node-drain is an operator in 150 lines', () => {
  const lines = readFileSync(join(root, 'examples/node-drain/feature.ts'), 'utf8').trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(150);
});

test.each([
  ['node-drain', nodeDrain],
  ['namespace-janitor', janitor],
] as const)('the role of %s is what the feature needs', (example, feature) => {
  const text = readFileSync(join(root, `examples/${example}/rbac.yaml`), 'utf8');
  const [role] = parseAllDocuments(text).map((document) => document.toJS() as { rules: object[] });
  const everybody = new Set(rightsOf([]).map(({ why }) => why));
  const needed = rightsOf([feature]).filter(({ why }) => !everybody.has(why));
  expect(role?.rules).toEqual(
    needed.map(({ apiGroup, resources, verbs }) => ({ apiGroups: [apiGroup], resources, verbs })),
  );
});
