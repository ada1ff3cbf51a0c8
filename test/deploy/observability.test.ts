/**
 * Dashboard and alert rules: every expression can be read and names metrics that a replica has, with labels
 * that they have.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { docsBase } from '../../scripts/docs/runbooks.ts';
import { featuresOf } from '../../src/replica/features.ts';
import { createMetrics, metricTables } from '../../src/replica/metrics.ts';
import { root } from './manifests.ts';

const metricTable = metricTables(featuresOf());

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}
interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly targets?: ReadonlyArray<{ readonly expr: string }>;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
}

const read = (file: string) => readFileSync(join(root, 'deploy/observability', file), 'utf8');
const rules = (
  parse(read('rules.yaml')) as { groups: ReadonlyArray<{ rules: readonly Rule[] }> }
).groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(read('dashboard.json')) as {
  panels: readonly Panel[];
  templating: { list: ReadonlyArray<{ name: string; query: string }> };
};
const panelExpressions = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => [`panel "${title}"`, expr] as const),
);
const expressions = [...rules.map(({ alert, expr }) => [alert, expr] as const), ...panelExpressions];

/** Name → type of what a replica really says. */
async function existing(): Promise<Map<string, string>> {
  const { body } = await createMetrics({ table: metricTable, processMetrics: true }).text();
  const types = [...body.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  return new Map(types.map(([, name = '', type = '']) => [name, type]));
}

/**
 * Metrics that an expression selects: what stands before a selector or alone, and is neither function,
 * keyword nor label.
 */
function metricsIn(expression: string): string[] {
  const plain = expression
    .replaceAll(/\b(by|without|on|ignoring|group_left|group_right) *\([^)]*\)/g, '')
    .replaceAll(/\{[^}]*\}/g, '{}')
    .replaceAll(/"[^"]*"/g, '')
    .replaceAll(/\[[^\]]*\]/g, '');
  return [...plain.matchAll(/([a-zA-Z_][a-zA-Z0-9_]*)(?! *\()\b/g)]
    .map(([, name = '']) => name)
    .filter((name) => !['or', 'and', 'unless', 'bool'].includes(name))
    .filter((name) => !new RegExp(`\\b${name} *\\(`).test(plain));
}

test.each(expressions)('%s names metrics that exist', async (_, expression) => {
  const metrics = await existing();
  const names = metricsIn(expression);
  expect(names.length).toBeGreaterThan(0);
  for (const name of names.filter((one) => one !== 'up')) {
    const base = name.replace(/_(bucket|count|sum)$/, '');
    const isPart = base !== name && metrics.get(base) === 'histogram';
    expect(isPart || metrics.has(name), name).toBe(true);
    // A histogram has no value of its own, a counter none that says anything but over time.
    expect(!isPart && metrics.get(name) === 'histogram', name).toBe(false);
    if (metrics.get(name) === 'counter') expect(expression).toMatch(new RegExp(`(rate|increase)\\(${name}`));
  }
});

test.each(expressions)('%s selects by labels that the metrics have', (_, expression) => {
  for (const [, name = '', selector = ''] of expression.matchAll(/(orrery_\w+)\{([^}]*)\}/g)) {
    const { labels = [] } = metricTable[name.replace(/_(bucket|count|sum)$/, '')] ?? {};
    const known: readonly string[] = [...labels, 'job', 'instance', 'le'];
    for (const [, label = ''] of selector.matchAll(/(\w+) *[=!]/g)) expect(known).toContain(label);
  }
});

test.each(expressions)('%s has its brackets in pairs', (_, expression) => {
  const open: string[] = [];
  const pairs: Record<string, string> = { ')': '(', '}': '{', ']': '[' };
  for (const one of expression.replaceAll(/"[^"]*"/g, '')) {
    if ('({['.includes(one)) open.push(one);
    else if (one in pairs) expect(open.pop()).toBe(pairs[one]);
  }
  expect(open).toEqual([]);
});

describe('alerts', () => {
  const guide = readFileSync(join(root, 'docs/alerts.md'), 'utf8');
  const sections = new Map(
    guide.split(/^## /m).map((section) => [section.split('\n', 1)[0] ?? '', section] as const),
  );

  test.each(rules)('$alert has a severity, a summary, and a section that says what to do', (rule) => {
    const { alert, labels, annotations } = rule;
    expect(['critical', 'warning']).toContain(labels.severity);
    expect(annotations.summary).toMatch(/[.?]$/);
    // Somebody who reads nothing else knows where to begin, and no figure has fifteen digits.
    expect(annotations.summary).toMatch(/`(orrery|kubectl) [^`]+`|\b(check|log|restore)\b/i);
    expect(annotations.summary).not.toMatch(/\{\{ \$value \}\} s\b/);
    expect(annotations.runbook_url).toMatch(new RegExp(`/alerts\\.md#${alert.toLowerCase()}$`));
    // A command to type, not only what it means.
    expect(sections.get(alert)).toMatch(/`(orrery|kubectl|nats) [^`]+`/);
  });

  test('no name is taken twice, and no section is of an alert that is no more', () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    const others = [...sections.keys()].filter((name) => name.startsWith('Orrery'));
    expect(others.toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
  });

  test('runbooks lie in the repository, where package.json says, or where the one says who installs', () => {
    expect(docsBase({})).toBe('docs');
    expect(docsBase({ homepage: 'https://orrery.example.com/' })).toBe('https://orrery.example.com/docs');
    expect(docsBase({ repository: { url: 'git+https://git.example.com/a/orrery.git' } })).toBe(
      'https://git.example.com/a/orrery/blob/HEAD/docs',
    );
    const program = join(root, 'scripts/alert-rules.ts');
    const run = (...args: string[]) => spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' });
    const { stdout, status } = run('https://wiki.example.com/orrery/');
    const moved = (parse(stdout) as { groups: ReadonlyArray<{ rules: readonly Rule[] }> }).groups;
    expect([status, moved[0]?.rules[0]?.annotations.runbook_url]).toEqual([
      0,
      'https://wiki.example.com/orrery/alerts.md#orreryshardswithoutowner',
    ]);
    expect(run('wiki')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('"wiki" is not allowed'),
    });
  });
});

test('every metric of Orrery is on the dashboard', () => {
  const shown = panelExpressions.map(([, expression]) => expression).join('\n');
  expect(Object.keys(metricTable).filter((name) => !shown.includes(name))).toEqual([]);
});

test('panels have different ids and do not lie on each other', () => {
  const { panels } = dashboard;
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  for (const [index, a] of panels.entries()) {
    for (const b of panels.slice(index + 1)) {
      const [p, q] = [a.gridPos, b.gridPos];
      const isApart = p.x + p.w <= q.x || q.x + q.w <= p.x || p.y + p.h <= q.y || q.y + q.h <= p.y;
      expect(isApart, `${a.title} and ${b.title}`).toBe(true);
    }
  }
});
