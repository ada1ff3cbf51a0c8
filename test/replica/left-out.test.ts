/** What is told of objects that are too large to be kept. */
import { expect, test } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { events, services } from '../../src/kube/api/resources.ts';
import type { LeftOut } from '../../src/kube/mirror/mirror.ts';
import { idle } from '../../src/kube/mirror/mirror.ts';
import { leftOutEvents, leftOutGauges, leftOutNotes } from '../../src/replica/left-out.ts';
import { fakePort } from '../kube/effects/fake-port.ts';
import { VirtualClock } from '../virtual-clock.ts';

const one = (name: string): LeftOut => {
  const why = '600,000 bytes would be kept of it, at most 524,288 fit';
  return { resource: services, namespace: 'shop', name, uid: `u-${name}`, why };
};
const mirrorWith = (...names: string[]) => ({
  name: 'services',
  status: () => ({ ...idle, fence: 7, leftOut: names.map(one) }),
});

test('/readyz names the first of a kind, why, and what helps', () => {
  expect(leftOutNotes([mirrorWith()])).toEqual([]);
  const notes = leftOutNotes([mirrorWith('a', 'b', 'c', 'd', 'e')]);
  expect(notes).toHaveLength(4);
  expect(notes[0]).toMatch(/^Service shop\/a is left out: 600,000 bytes .* smaller\.$/);
  expect(notes[3]).toBe('2 more of kind Service are left out.');
});

test('a gauge counts them, in the replica that watches the resource', () => {
  const elsewhere = { name: 'v1/Node', status: () => idle };
  expect([...leftOutGauges([mirrorWith('a'), mirrorWith(), elsewhere])].map(({ value }) => value)).toEqual([
    1, 0,
  ]);
});

test('a Warning Event on the object says so', async () => {
  const written: object[] = [];
  const kube = fakePort({
    create: async (resource: object, body: object) => {
      written.push({ resource, body });
      return body as never;
    },
  });
  leftOutEvents(kube, { replica: 'r', clock: new VirtualClock(), log: silentLog })(one('a'));
  await Promise.resolve();
  expect(written).toMatchObject([
    {
      resource: events,
      body: {
        type: 'Warning',
        reason: 'LeftOut',
        regarding: { apiVersion: 'v1', kind: 'Service', namespace: 'shop', name: 'a', uid: 'u-a' },
        note: expect.stringContaining('600,000 bytes'),
      },
    },
  ]);
});
