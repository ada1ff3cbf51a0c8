/** Kubernetes Events: legal whatever they are about, and written once. */
import { describe, expect, test } from 'vitest';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeObject, KubePort } from '../../../src/base/kube-port.ts';
import { silentLog } from '../../../src/base/log-port.ts';
import { writeKubeEvent } from '../../../src/kube/effects/kube-event.ts';
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
  const outcome = await writeKubeEvent(kube, { replica })(of, { ...context, key });
  expect(outcome).toEqual({ type: 'effect.settled', effect: 'kube-event.write', error: null });
  const [object] = objects;
  if (object === undefined) throw new Error('nothing was written');
  return object;
}

test('the log says each Warning, and what cannot be written', async () => {
  const lines: string[] = [];
  const note = (facts: object, message: string) =>
    void lines.push(`${message}: ${Object.values(facts).join(', ')}`);
  const log = { ...silentLog, warn: note };
  const run = (create: KubePort['create'], of = effect) =>
    writeKubeEvent(fakePort({ create }), { replica: 'r', log })(of, context);
  await run(async (_, object) => object);
  await run(async (_, object) => object, { ...effect, eventType: 'Normal' });
  await run(async () => {
    throw new OrreryError('KUBE_REFUSED', 'forbidden');
  });
  const said = `Pod shop/web-0, RouteLost, ${effect.note}`;
  expect(lines).toEqual([
    `wrote a Warning Event: ${said}`,
    `an Event could not be written: ${said}, forbidden`,
  ]);
});

test('an Event says what, about whom, and who says so', async () => {
  expect(await written(effect)).toEqual({
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: {
      namespace: 'shop',
      name: expect.stringMatching(/^web-0\.[0-9a-f]{16}$/),
      annotations: { 'orrery.dev/effect': expect.stringMatching(/^[0-9a-f]{16}$/) },
    },
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

/** Keeps Events as an API server does. */
function eventStore() {
  const stored = new Map<string, KubeObject>();
  let version = 0;
  const conflict = () => new OrreryError('KUBE_CONFLICT', 'it is otherwise', { facts: { status: 409 } });
  const kube = fakePort({
    create: async (_, object) => {
      if (stored.has(object.metadata.name)) throw conflict();
      stored.set(object.metadata.name, withVersion(object));
      return object;
    },
    get: async (_, __, name) => {
      const object = stored.get(name);
      if (object === undefined) throw new OrreryError('KUBE_NOT_FOUND', 'it is gone');
      return object;
    },
    patch: async (_, { name, body }) => {
      const { metadata, series } = body as KubeObject;
      const object = stored.get(name);
      if (object?.metadata.resourceVersion !== metadata.resourceVersion) throw conflict();
      const next = withVersion({ ...object, series, metadata: { ...object?.metadata, ...metadata, name } });
      stored.set(name, next);
      return next;
    },
  });
  const withVersion = (object: KubeObject): KubeObject => {
    version++;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
  };
  const write = (of: KubeEventWrite, key: string) =>
    writeKubeEvent(kube, { replica: 'r' })(of, { ...context, key });
  return { stored, kube, write };
}

describe('the same news again', () => {
  test('is one Event with a series, told by whom it was first, last seen when it was last', async () => {
    const { stored, write } = eventStore();
    await write(effect, 'a/1/0');
    await write({ ...effect, at: effect.at + 60_000 }, 'a/2/0');
    await write({ ...effect, at: effect.at + 120_000 }, 'a/3/0');
    const [event] = stored.values();
    expect(stored.size).toBe(1);
    expect(event).toMatchObject({
      eventTime: '2025-03-04T05:06:07.089000Z',
      series: { count: 3, lastObservedTime: '2025-03-04T05:08:07.089000Z' },
    });
  });

  test('counts once for an effect that is run again after a crash', async () => {
    const { stored, write } = eventStore();
    for (const key of ['a/1/0', 'a/1/0', 'a/2/0', 'a/2/0']) await write(effect, key);
    expect([...stored.values()]).toMatchObject([{ series: { count: 2 } }]);
  });

  test.each([
    ['another note', { note: 'Service api does not reach it any more' }],
    ['another reason', { reason: 'GateOpened' }],
    ['another type', { eventType: 'Normal' }],
    ['a Pod of the same name that is another', { regarding: { ...effect.regarding, uid: 'uid-2' } }],
  ] as const)('is not %s', async (_, change) => {
    const { stored, write } = eventStore();
    await write(effect, 'a/1/0');
    await write({ ...effect, ...change }, 'a/2/0');
    expect(stored.size).toBe(2);
  });

  test('is counted though two count at the same time', async () => {
    const { stored, write } = eventStore();
    await write(effect, 'a/1/0');
    const outcomes = await Promise.all([write(effect, 'b/1/0'), write(effect, 'c/1/0')]);
    expect(outcomes).toMatchObject([{ error: null }, { error: null }]);
    expect([...stored.values()]).toMatchObject([{ series: { count: 3 } }]);
  });

  test('is written anew where the first has expired meanwhile', async () => {
    const { stored, kube, write } = eventStore();
    await write(effect, 'a/1/0');
    let isGone = false;
    const get: typeof kube.get = kube.get;
    const forgetting = {
      ...kube,
      get: (...args: Parameters<typeof get>) => {
        if (!isGone) stored.clear();
        isGone = true;
        return get(...args);
      },
    };
    const outcome = await writeKubeEvent(forgetting, { replica: 'r' })(effect, { ...context, key: 'a/2/0' });
    expect(outcome).toMatchObject({ error: null });
    expect([...stored.values()]).toMatchObject([{ note: effect.note }]);
  });
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
    expect(await writeKubeEvent(kube, { replica: 'r' })(effect, context)).toMatchObject({
      error: 'the namespace is going',
    });
  },
);

test('an API server that is away is reported as an error', async () => {
  const kube = fakePort({ create: () => Promise.reject(new OrreryError('KUBE_UNREACHABLE', 'away')) });
  await expect(writeKubeEvent(kube, { replica: 'r' })(effect, context)).rejects.toThrow('away');
});
