/** Times as Kubernetes writes them. */
import { expect, test } from 'vitest';
import { kubeMicroTime, kubeNanoTime, kubeTime } from '../../src/base/kube-time.ts';

const at = (ms: number) => Date.UTC(2026, 0, 2, 3, 4, 0, ms);

test.each([
  [0, '2026-01-02T03:04:00Z', '2026-01-02T03:04:00.000000Z', '2026-01-02T03:04:00Z'],
  [5, '2026-01-02T03:04:00Z', '2026-01-02T03:04:00.005000Z', '2026-01-02T03:04:00.005Z'],
  [120, '2026-01-02T03:04:00Z', '2026-01-02T03:04:00.120000Z', '2026-01-02T03:04:00.12Z'],
  [999, '2026-01-02T03:04:00Z', '2026-01-02T03:04:00.999000Z', '2026-01-02T03:04:00.999Z'],
  [10_000, '2026-01-02T03:04:10Z', '2026-01-02T03:04:10.000000Z', '2026-01-02T03:04:10Z'],
])('%i ms after the minute', (ms, whole, micro, nano) => {
  expect(kubeTime(at(ms))).toBe(whole);
  expect(kubeMicroTime(at(ms))).toBe(micro);
  expect(kubeNanoTime(at(ms))).toBe(nano);
});
