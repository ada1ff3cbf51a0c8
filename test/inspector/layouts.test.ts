/** The drawings of the charts that are shipped are those of the machines as they are, and complete. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fingerprintOf, layoutOf } from '../../scripts/layout/chart-layout.ts';
import type { Box, ChartLayout } from '../../src/inspector/charts/chart-layout.ts';
import { statesOf } from '../../src/inspector/charts/chart-tree.ts';
import { chartOf } from '../../src/inspector/charts/machine-view.ts';
import { machines } from '../chart-of.ts';

const folder = join(import.meta.dirname, '../../src/inspector/page/charts');
const charts = Object.values(machines);

function shipped(name: string): ChartLayout | null {
  const file = join(folder, `${name}.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null;
}

test('there is a drawing for each machine, and none of a machine that is gone', () => {
  const files = readdirSync(folder).sort();
  expect(files).toEqual(
    Object.keys(machines)
      .map((name) => `${name}.json`)
      .sort(),
  );
});

describe.each(charts.map((chart) => [chart.name, chart] as const))('%s', (name, chart) => {
  const layout = shipped(name);

  test('is drawn as it is now (else: npm run layouts)', () => {
    expect(layout?.fingerprint).toBe(fingerprintOf(chart));
  });

  test('every state is drawn, inside the one that it belongs to', () => {
    const boxes = new Map(layout?.states.map((state) => [state.path, state]));
    for (const { path } of statesOf(chartOf(chart))) {
      const box = boxes.get(path);
      const parent = boxes.get(path.split('.').slice(0, -1).join('.'));
      expect([path, box !== undefined]).toEqual([path, true]);
      if (box && parent && path !== '') expect([path, isWithin(box, parent)]).toEqual([path, true]);
    }
  });

  test('states that lie side by side do not overlap', () => {
    const states = layout?.states ?? [];
    const parentOf = (path: string) => path.split('.').slice(0, -1).join('.');
    for (const [index, one] of states.entries()) {
      for (const other of states.slice(index + 1)) {
        const areSiblings =
          one.path !== '' && other.path !== '' && parentOf(one.path) === parentOf(other.path);
        if (areSiblings)
          expect([one.path, other.path, overlap(one, other)]).toEqual([one.path, other.path, false]);
      }
    }
  });

  test('every transition to another state is an arrow with a label, or a line in its state', () => {
    const drawn = new Set<string>();
    for (const { transitions } of layout?.edges ?? [])
      for (const { source, index } of transitions) drawn.add(`${source}#${index}`);
    for (const { lines } of layout?.states ?? [])
      for (const { of } of lines) if (of) drawn.add(`${of.source}#${of.index}`);
    for (const { path, transitions } of statesOf(chartOf(chart))) {
      for (const [index, { targets }] of transitions.entries()) {
        if (targets?.some((target) => target !== path)) expect(drawn).toContain(`${path}#${index}`);
      }
    }
  });
});

test('the same chart gives the same drawing', async () => {
  const [chart] = charts.filter(({ name }) => name === 'watch');
  if (!chart) throw new Error('there is no watch chart');
  expect(await layoutOf(chart)).toEqual(shipped('watch'));
});

function isWithin(inner: Box, outer: Box): boolean {
  return (
    inner.x >= outer.x &&
    inner.y >= outer.y &&
    inner.x + inner.width <= outer.x + outer.width &&
    inner.y + inner.height <= outer.y + outer.height
  );
}

function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}
