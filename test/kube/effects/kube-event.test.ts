/** Kubernetes Events: legal whatever they are about, and written once. */
import { describe, expect, test } from 'vitest';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeObject } from '../../../src/kube/api/port.ts';
import { kubeEventWrite } from '../../../src/kube/effects/kube-event.ts';
import type { KubeEventWrite } from '../../../src/machines/effects.ts';
import { context, fakePort } from './fake-port.ts';

const effect: KubeEventWrite = {
  type: 'kube-event.write',
  regarding: { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'web-0', uid: 'uid-1' },
  eventType: 'Warning',
  reason: 'RouteLost',
  note: 'Service web does not reach it any more',
  at: Date.parse('2025-03-04T05:06:07.089Z'),
};

async function written(
  of: KubeEventWrite,
  key: string = context.key,
  replica = 'orrery-0',
): Promise<KubeObject> {
  const objects: KubeObject[] = [];
  const kube = fakePort({
    create: async (_, object) => {
      objects.push(object);
      return object;
    },
  });
  const outcome = await kubeEventWrite(kube, { replica })(of, { ...context, key });
  expect(outcome).toEqual({ type: 'effect.settled', effect: 'kube-event.write', error: null });
  const [object] = objects;
  if (object === undefined) throw new Error('nothing was written');
  return object;
}

test('an Event says what, about whom, and who says so', async () => {
  expect(await written(effect)).toEqual({
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { namespace: 'shop', name: expect.stringMatching(/^web-0\.[0-9a-f]{16}$/) },
    regarding: effect.regarding,
    type: 'Warning',
    reason: 'RouteLost',
    action: 'RouteLost',
    note: effect.note,
    eventTime: '2025-03-04T05:06:07.089000Z',
    reportingController: 'orrery.dev/orrery',
    reportingInstance: 'orrery-0',
  });
});

test('one effect has one name, another effect another', async () => {
  const [first, again, other] = await Promise.all([
    written(effect, 'a/1/0'),
    written(effect, 'a/1/0'),
    written(effect, 'a/1/1'),
  ]);
  expect(first.metadata.name).toBe(again.metadata.name);
  expect(first.metadata.name).not.toBe(other.metadata.name);
});

test('an Event that is there already counts as written', async () => {
  const exists = new OrreryError('KUBE_CONFLICT', 'it exists', {
    facts: { status: 409, reason: 'AlreadyExists' },
  });
  const kube = fakePort({ create: () => Promise.reject(exists) });
  expect(await kubeEventWrite(kube, { replica: 'r' })(effect, context)).toMatchObject({ error: null });
});

test('an Event about an object without a namespace stands in the namespace default', async () => {
  const event = await written({ ...effect, regarding: { ...effect.regarding, namespace: '' } });
  expect(event.metadata.namespace).toBe('default');
  expect((event.regarding as { namespace?: string }).namespace).toBeUndefined();
});

describe('bounds of the API', () => {
  test('a note has at most 1024 bytes, and no character is cut in two', async () => {
    for (const character of ['x', 'ö', '€', '🪐']) {
      const note = (await written({ ...effect, note: character.repeat(2_000) })).note as string;
      expect(Buffer.byteLength(note)).toBeLessThanOrEqual(1_024);
      expect(Buffer.byteLength(note)).toBeGreaterThan(1_015);
      expect(note.endsWith('…')).toBe(true);
      expect(note.replaceAll(character, '')).toBe('…');
    }
    expect((await written({ ...effect, note: 'x'.repeat(1_024) })).note).toHaveLength(1_024);
  });

  test('a long replica name and reason are cut', async () => {
    const event = await written({ ...effect, reason: 'R'.repeat(200) }, 'k', 'r'.repeat(300));
    for (const field of [event.reportingInstance, event.reason, event.action]) {
      expect(Buffer.byteLength(field as string)).toBeLessThanOrEqual(128);
    }
  });

  test.each([
    'a'.repeat(253),
    'system:kube-scheduler',
    'a..b',
    `${'a'.repeat(235)}.b`,
    `${'a'.repeat(235)}-b`,
    'UPPER_case',
    'ö',
    '-',
    'a.-b',
  ])('the object name %j makes a legal name', async (name) => {
    const event = await written({ ...effect, regarding: { ...effect.regarding, name } });
    expect(event.metadata.name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
    expect(event.metadata.name.length).toBeLessThanOrEqual(253);
  });
});

test.each(['KUBE_REFUSED', 'KUBE_NOT_FOUND'] as const)(
  'one that may not be written (%s) ends with the reason',
  async (code) => {
    const kube = fakePort({ create: () => Promise.reject(new OrreryError(code, 'the namespace is going')) });
    expect(await kubeEventWrite(kube, { replica: 'r' })(effect, context)).toMatchObject({
      error: 'the namespace is going',
    });
  },
);

test('an API server that is away is reported as an error', async () => {
  const kube = fakePort({ create: () => Promise.reject(new OrreryError('KUBE_UNREACHABLE', 'away')) });
  await expect(kubeEventWrite(kube, { replica: 'r' })(effect, context)).rejects.toThrow('away');
});
