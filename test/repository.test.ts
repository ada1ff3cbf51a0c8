/** What surrounds the program: versions agree, workflows run what there is, forms can be read. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { namedVersions, objections, sectionOf } from '../scripts/release-notes.mjs';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const manifest = JSON.parse(read('package.json')) as Record<string, unknown> & {
  readonly version: string;
  readonly scripts: Readonly<Record<string, string>>;
};

describe('a release', () => {
  test('names one version everywhere', () => {
    expect(namedVersions().filter(([, version]) => version !== manifest.version)).toEqual([]);
  });

  test('is refused while its heading has no day, and where it is named otherwise', () => {
    const changelog = '# C\n\n## 0.2.0 – 2026-12-01\n\n- New.\n\n## 0.1.0 – not yet released\n\n- Old.\n';
    expect(sectionOf(changelog, '0.2.0')).toEqual({ day: '2026-12-01', text: '- New.' });
    expect(sectionOf(changelog, '0.1.0')?.day).toBe('not yet released');
    expect(sectionOf(changelog, '0.3.0')).toBeUndefined();
    expect(objections('9.9.9')).toContain(`package.json names ${manifest.version}, not 9.9.9`);
    expect(sectionOf(read('CHANGELOG.md'), manifest.version)?.text).toMatch(/^(- |### )/);
  });
});

describe('package.json', () => {
  test.each(['dependencies', 'devDependencies', 'bin'])('%s are in order', (field) => {
    const names = Object.keys((manifest[field] ?? {}) as object);
    expect(names).toEqual([...names].sort());
  });
});

interface Job {
  readonly 'timeout-minutes'?: number;
  readonly needs?: string | readonly string[];
  readonly steps: readonly { readonly run?: string; readonly uses?: string }[];
}
interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

describe.each(readdirSync(join(root, '.github/workflows')))('workflow %s', (file) => {
  const workflow = parse(read(`.github/workflows/${file}`)) as Workflow;
  const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);
  const commands = steps.map(({ run = '' }) => run).join('\n');

  test('runs scripts that exist', () => {
    const asked = [...commands.matchAll(/npm (?:run ([\w:-]+)|(test|start))/g)];
    const names = asked.map(([, script, short]) => script ?? short ?? '');
    expect(names.filter((name) => !(name in manifest.scripts))).toEqual([]);
    const files = [...commands.matchAll(/\b((?:scripts|test|deploy)\/[\w./-]+\.\w+)/g)].map(
      ([, path = '']) => path,
    );
    expect(files.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  test('may do nothing that it does not say, and ends by itself', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
    for (const job of Object.values(workflow.jobs)) expect(job['timeout-minutes']).toBeGreaterThan(0);
  });

  test('takes actions of others by content, not by name', () => {
    const used = steps.flatMap(({ uses }) => uses ?? []);
    expect(used.filter((name) => !/@[0-9a-f]{40}$/.test(name))).toEqual([]);
  });
});

test('issue forms ask for what is needed, once each', () => {
  const folder = join(root, '.github/ISSUE_TEMPLATE');
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.yaml'))) {
    const form = parse(readFileSync(join(folder, file), 'utf8')) as {
      name: string;
      description: string;
      body: { type: string; id?: string; attributes: { label?: string } }[];
    };
    const fields = form.body.filter(({ type }) => type !== 'markdown');
    expect([form.name, form.description].every((text) => text.length > 0)).toBe(true);
    expect(fields.every(({ id, attributes }) => id && attributes.label)).toBe(true);
    expect(new Set(fields.map(({ id }) => id)).size).toBe(fields.length);
  }
});
