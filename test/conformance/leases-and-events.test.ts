import { describe, expect } from 'vitest';
import type { JsonObject } from './client.ts';
import { causeFields, itemsOf, test } from './conformance.ts';

describe('Leases', () => {
  const path = (namespace: string) => `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;

  test('keep times with exactly six fractional digits', async ({ api, namespace }) => {
    const spec = {
      holderIdentity: 'me',
      leaseDurationSeconds: 15,
      leaseTransitions: 0,
      acquireTime: '2024-05-06T07:08:09.000000Z',
      renewTime: '2024-05-06T07:08:09.123456Z',
    };
    const reply = await api.post(path(namespace), { metadata: { name: 'a' }, spec });
    expect(reply.code).toBe(201);
    expect(reply.body.spec).toEqual(spec);
  });

  test('show times in UTC', async ({ api, namespace }) => {
    const spec = { renewTime: '2024-05-06T07:08:09.123456+02:00' };
    const reply = await api.post(path(namespace), { metadata: { name: 'a' }, spec });
    expect(reply.body.spec).toEqual({ renewTime: '2024-05-06T05:08:09.123456Z' });
  });

  test.for(['2024-05-06T07:08:09Z', '2024-05-06T07:08:09.123Z', '2024-05-06T07:08:09.1234567Z', 'yesterday'])(
    'refuse the time %s with 400',
    async (renewTime, { api, namespace }) => {
      const reply = await api.post(path(namespace), { metadata: { name: 'a' }, spec: { renewTime } });
      expect(reply.code).toBe(400);
      expect(String(reply.body.message)).toContain(
        `Lease in version "v1" cannot be handled as a Lease: parsing time "${renewTime}" as "2006-01-02T15:04:05.000000Z07:00"`,
      );
    },
  );

  test('keep an empty holder: it is how a Lease is released', async ({ api, namespace }) => {
    const reply = await api.post(path(namespace), { metadata: { name: 'a' }, spec: { holderIdentity: '' } });
    expect(reply.body.spec).toEqual({ holderIdentity: '' });
  });

  test('refuse a duration of nothing and transitions below nothing', async ({ api, namespace }) => {
    const spec = { leaseDurationSeconds: 0, leaseTransitions: -1 };
    const reply = await api.post(path(namespace), { metadata: { name: 'a' }, spec });
    expect(reply.code).toBe(422);
    expect(causeFields(reply)).toEqual(['spec.leaseDurationSeconds', 'spec.leaseTransitions']);
  });

  test('count changes of leader up to 2147483647, and refuse one more with 400', async ({
    api,
    namespace,
  }) => {
    const most = 2 ** 31 - 1;
    const lease = (leaseTransitions: number) => ({ metadata: { name: 'a' }, spec: { leaseTransitions } });
    expect((await api.post(path(namespace), lease(most))).body.spec).toEqual({ leaseTransitions: most });
    const reply = await api.put(`${path(namespace)}/a`, lease(most + 1));
    expect(reply.code).toBe(400);
    expect(String(reply.body.message)).toContain(
      'json: cannot unmarshal number 2147483648 into Go struct field LeaseSpec.spec.leaseTransitions of type int32',
    );
  });

  test('refuse a duration that is no whole number with 400', async ({ api, namespace }) => {
    const reply = await api.post(path(namespace), {
      metadata: { name: 'a' },
      spec: { leaseDurationSeconds: 1.5 },
    });
    expect(reply.code).toBe(400);
    expect(String(reply.body.message)).toContain(
      'json: cannot unmarshal number 1.5 into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32',
    );
  });
});

describe('Events', () => {
  const newPath = (namespace: string) => `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
  const event = (namespace: string, more: JsonObject = {}): JsonObject => ({
    metadata: { name: 'a' },
    eventTime: '2024-05-06T07:08:09.123456Z',
    reportingController: 'example.com/tests',
    reportingInstance: 'test-0',
    action: 'Test',
    reason: 'Tested',
    note: 'well done',
    type: 'Normal',
    regarding: { kind: 'Pod', namespace, name: 'p', uid: 'u' },
    ...more,
  });

  test('are one thing in both groups', async ({ api, core, namespace }) => {
    const reply = await api.post(newPath(namespace), event(namespace));
    expect(reply.code).toBe(201);
    expect(reply.body).toMatchObject({ ...event(namespace), kind: 'Event', apiVersion: 'events.k8s.io/v1' });
    const old = await api.get(`${core}/events/a`);
    expect(old.body).toMatchObject({
      kind: 'Event',
      apiVersion: 'v1',
      message: 'well done',
      reportingComponent: 'example.com/tests',
      involvedObject: { kind: 'Pod', namespace, name: 'p', uid: 'u' },
      eventTime: '2024-05-06T07:08:09.123456Z',
      firstTimestamp: null,
      source: {},
    });
  });

  test('written the old way are seen the new way', async ({ api, core, namespace }) => {
    await api.post(`${core}/events`, {
      metadata: { name: 'a' },
      involvedObject: { kind: 'Pod', namespace, name: 'p' },
      reason: 'R',
      message: 'm',
      type: 'Warning',
      count: 3,
    });
    const reply = await api.get(`${newPath(namespace)}/a`);
    expect(reply.body).toMatchObject({
      apiVersion: 'events.k8s.io/v1',
      note: 'm',
      reason: 'R',
      type: 'Warning',
      deprecatedCount: 3,
      eventTime: null,
    });
  });

  test('are found by what they are about', async ({ api, core, namespace }) => {
    await api.post(newPath(namespace), event(namespace));
    const one = await api.get(`${core}/events?fieldSelector=involvedObject.name%3Dp,reason%3DTested`);
    expect(itemsOf(one)).toHaveLength(1);
    const two = await api.get(`${newPath(namespace)}?fieldSelector=regarding.uid%3Du,type%3DNormal`);
    expect(itemsOf(two)).toHaveLength(1);
    const none = await api.get(`${core}/events?fieldSelector=involvedObject.name%3Dother`);
    expect(itemsOf(none)).toHaveLength(0);
  });

  test.for([
    ['no reporting controller', { reportingController: '' }, ['reportingController']],
    ['no action', { action: '' }, ['action']],
    ['no reason', { reason: '' }, ['reason']],
    ['no instance', { reportingInstance: '' }, ['reportingInstance']],
    ['another type', { type: 'Fatal' }, ['type']],
    ['a reason that is too long', { reason: 'r'.repeat(129) }, ['reason']],
    ['a note that is too long', { note: 'n'.repeat(1025) }, ['message']],
    [
      'a series of one',
      { series: { count: 1, lastObservedTime: '2024-05-06T07:08:09.123456Z' } },
      ['series.count'],
    ],
  ] as const)('with %s are refused', async ([, more, fields], { api, namespace }) => {
    const reply = await api.post(newPath(namespace), event(namespace, more as unknown as JsonObject));
    expect(reply.code).toBe(422);
    expect(causeFields(reply)).toEqual([...fields]);
  });

  test('may only change in their series', async ({ api, namespace }) => {
    await api.post(newPath(namespace), event(namespace));
    const note = await api.patch(`${newPath(namespace)}/a`, 'merge', { note: 'other' });
    expect(note.code).toBe(422);
    expect(causeFields(note)).toEqual(['message']);
    const series = { count: 2, lastObservedTime: '2024-05-06T07:08:10.000000Z' };
    const reply = await api.patch(`${newPath(namespace)}/a`, 'merge', { series });
    expect(reply.body.series).toEqual(series);
  });
});
