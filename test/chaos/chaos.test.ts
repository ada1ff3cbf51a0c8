/** A short run with a few faults: the same one, at length, is `npm run chaos` (docs/reliability.md). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { runChaos } from './chaos-run.ts';

const undos: Array<() => unknown> = [];
afterEach(async () => {
  for (let undo = undos.pop(); undo; undo = undos.pop()) await undo();
});

test('real replicas are killed, stopped and cut off: every promise is kept, and everything comes to rest', {
  timeout: 180_000,
}, async () => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-chaos-'));
  undos.push(() => rmSync(dir, { recursive: true, force: true }));
  const lines: string[] = [];
  const { breach, faults, steps } = await runChaos({
    ...{ seed: 5, dir, copies: 1, replicas: 2, chaosMs: 4_000, faultEveryMs: 1_500, restMs: 120_000 },
    kinds: ['kill', 'pause', 'natsCut', 'apiSilent'],
    shop: { replicas: 1, services: ['cart', 'login'], routingDelay: '50ms-300ms' },
    say: (line) => lines.push(line),
    signal: new AbortController().signal,
  });
  expect(breach, lines.join('\n')).toBeNull();
  expect([...faults.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(1);
  expect(steps).toBeGreaterThan(20);
});
