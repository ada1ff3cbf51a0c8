/**
 * The alert rules as Prometheus reads them: its own tool runs their tests
 * (deploy/observability/rules.test.yaml).
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { promtool } from '../../scripts/setup/promtool.mjs';
import { root } from './manifests.ts';

const rules = join(root, 'deploy/observability');

function run(...args: readonly string[]) {
  const program = promtool(root, process.env);
  if (program === undefined) throw new Error('promtool is not installed: node scripts/setup.mjs --tests');
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: rules, encoding: 'utf8' });
  return { status, said: `${stdout}${stderr}` };
}

test.each([
  ['rules can be read', ['check', 'rules', 'rules.yaml']],
  ['alerts come when they should, and not before', ['test', 'rules', 'rules.test.yaml']],
] as const)(
  '%s',
  (_, args) => {
    const { status, said } = run(...args);
    expect([status, said]).toEqual([0, said]);
    // A process of its own on a machine that may be busy.
  },
  60_000,
);
