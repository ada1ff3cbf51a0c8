/**
 * The service chart at its bounds: what a Service's record keeps of its Pods (docs/features/routes.md §4).
 */
import { expect, test } from 'vitest';
import { limits } from '../../../src/base/limits.ts';
import type { Asker } from '../../../src/machines/service/route-events.ts';
import { newWant, type Want, wantBytes, withWatched } from '../../../src/machines/service/service-context.ts';
import { answered, finished, newService, observed, told } from './service-script.ts';

const bytes = (wants: readonly Want[]) => wants.reduce((sum, want) => sum + wantBytes(want), 0);
const numbers = (wants: readonly Want[]) => wants.map(({ pod }) => Number(pod.split('-')[1]));
const count = 2_000;
const ipOf = (n: number) => `10.1.${n >> 8}.${n & 255}`;
const placeOf = (n: number): Asker => ({
  pod: `pod/shop/web-${n}`,
  uid: `b1946ac9-2492-4d4e-8a8f-${String(n).padStart(12, '0')}`,
  ip: ipOf(n),
  family: 'IPv4',
});
const places = Array.from({ length: count }, (_, n) => placeOf(n));

test('questions of more Pods than there is room for leave the record small; the latest are kept, and all have their turn', () => {
  const service = newService(observed());
  for (let n = 0; n < count; n += 50) {
    const [first = placeOf(0), ...also] = places.slice(n, n + 50);
    service.take({ type: 'route.wanted', ...first, also });
  }
  const { wants } = service.context;
  expect(bytes(wants)).toBeLessThanOrEqual(limits.routeWantBytes);
  expect(bytes(wants)).toBeGreaterThan(limits.routeWantBytes - 1_000);
  expect(numbers(wants).at(-1)).toBe(count - 1);

  // Pod 0 had to make room; it asks again, and is met.
  expect(numbers(wants)).not.toContain(0);
  service.take({ type: 'route.wanted', ...placeOf(0) });
  const { round } = service.context;
  service.take({ type: 'sample.answered', round, ip: ipOf(0) }, finished(round), answered(1, round));
  expect(told(service)).toContainEqual(['route.proven', 'web-0']);
});

test('while there is no room for more watched Pods, those that are watched stay so', () => {
  const kept = places.map((place) => newWant(place, 0)).reduce(withWatched, [] as readonly Want[]);
  expect(bytes(kept)).toBeLessThanOrEqual(limits.routeWantBytes);
  expect(bytes(kept)).toBeGreaterThan(limits.routeWantBytes - 1_000);
  expect(numbers(kept).slice(0, 3)).toEqual([0, 1, 2]);
});
