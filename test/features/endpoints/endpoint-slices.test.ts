/** One pass over the slices of a Service: conflicts, failures, crashes and what they leave. */
import { expect, test } from 'vitest';
import { OrreryError } from '../../../src/base/errors.ts';
import { sliceDigest } from '../../../src/features/endpoints/digest.ts';
import { triggerTimeAnnotation } from '../../../src/features/endpoints/slice-labels.ts';
import { SliceApi, service, workload } from './slice-api.ts';

const names = (count: number, from = 0) => Array.from({ length: count }, (_, at) => `vm-${at + from}`);
const sizes = (api: SliceApi) =>
  Object.values(api.stand())
    .map((one) => one.length)
    .sort((a, b) => b - a);

test('the slices are made, and a second pass writes nothing, before the echo and after it', async () => {
  const api = new SliceApi();
  const first = await api.pass();
  expect(Object.values(api.stand())).toEqual([names(3)]);
  expect(first).toMatchObject({ type: 'slices.reconciled', writes: 1, empty: false, version: '101' });
  expect(await api.pass()).toMatchObject({ writes: 0, standing: (first as { standing: string }).standing });
  api.echo();
  expect(await api.pass()).toMatchObject({ writes: 0, standing: (first as { standing: string }).standing });
});

test('§5.5: before everything was listed anew nothing is read, planned or written, and that is no failure', async () => {
  const api = new SliceApi();
  await api.pass();
  api.calls.length = 0;
  api.isComplete = false;
  for (let n = 0; n < 3; n++) api.index.setWorkload('shop', `vm-${n}`, null, true);
  for (const change of [{}, { compact: true }, { version: '999' }])
    expect(await api.pass(change)).toMatchObject({ type: 'slices.unlisted' });
  expect(api.calls).toEqual([]);
});

/** A picture that is being read, and is whole after so long, ms; null: never. */
function beingRead(api: SliceApi, ms: number | null): void {
  api.isComplete = false;
  const { promise, resolve } = Promise.withResolvers<void>();
  api.whole = promise;
  if (ms === null) return;
  api.clock.after(ms, () => {
    api.isComplete = true;
    resolve();
  });
}

test('a picture that is being read is waited for, and costs no second pass', async () => {
  const api = new SliceApi();
  beingRead(api, 800);
  expect(await api.pass()).toMatchObject({ type: 'slices.reconciled', writes: 1 });
  expect(Object.values(api.stand())).toEqual([names(3)]);
});

test('§5.6: a picture that is never read to its end ends the pass, and is no failure', async () => {
  const api = new SliceApi();
  beingRead(api, null);
  expect(await api.pass()).toMatchObject({ type: 'slices.unlisted' });
  expect(api.clock.monotonic()).toBeLessThan(10_000);
  expect(api.calls).toEqual([]);
});

test('§5.5: a pass that loses the lists between two rounds goes no further', async () => {
  const api = new SliceApi();
  await api.pass();
  const [name = ''] = api.objects.keys();
  const held = api.objects.get(name);
  if (held) api.put(held);
  api.index.setWorkload('shop', 'vm-3', workload(3), true);
  // The first write is refused with 409; then the mirror moves.
  api.before = () => {
    api.isComplete = false;
  };
  expect(await api.pass()).toMatchObject({ type: 'slices.unlisted' });
  expect(Object.values(api.stand())).toEqual([names(3)]);
});

test('whoever knows only older versions than a pass has left reads the slices first', async () => {
  const api = new SliceApi();
  const { version } = (await api.pass()) as { version: string };
  const other = new SliceApi();
  for (const object of api.objects.values()) other.objects.set(object.metadata.name, object);
  await other.pass({ version });
  expect(other.calls).toEqual(['list']);
});

test('§6.5: a create without an answer is not made twice, and no list is read for it', async () => {
  const api = new SliceApi(250);
  let creates = 0;
  api.losing = () => (creates++ === 1 ? new OrreryError('KUBE_UNREACHABLE', 'no answer') : undefined);
  expect(await api.pass({ series: 9 })).toMatchObject({ type: 'slices.failed' });
  expect(await api.pass({ series: 9 })).toMatchObject({ type: 'slices.reconciled' });
  expect(sizes(api)).toEqual([100, 100, 50]);
  expect(api.calls.filter((call) => call === 'list')).toEqual([]);
});

test('409: the slice is read again and the rest planned anew; it is no failure', async () => {
  const api = new SliceApi();
  await api.pass();
  const [name = ''] = api.objects.keys();
  const held = api.objects.get(name);
  if (held) api.put({ ...held, metadata: { ...held.metadata, annotations: { mine: 'yes' } } });
  api.index.setWorkload('shop', 'vm-3', workload(3), true);
  expect(await api.pass()).toMatchObject({ type: 'slices.reconciled', writes: 1 });
  expect(Object.values(api.stand())).toEqual([names(4)]);
  expect(api.objects.get(name)?.metadata.annotations).toMatchObject({ mine: 'yes' });
});

test('404: a slice that somebody deleted is made anew under another name', async () => {
  const api = new SliceApi();
  await api.pass();
  const [name = ''] = api.objects.keys();
  api.objects.delete(name);
  api.index.setWorkload('shop', 'vm-3', workload(3), true);
  expect(await api.pass()).toMatchObject({ type: 'slices.reconciled' });
  expect(Object.values(api.stand())).toEqual([names(4)]);
  expect(api.objects.has(name)).toBe(false);
});

test('a write that fails stops no other slice, and nothing is deleted that has not moved', async () => {
  const api = new SliceApi(250);
  await api.pass();
  const [first = ''] = api.objects.keys();
  for (let n = 0; n < 250; n++)
    api.index.setWorkload('shop', `vm-${n}`, workload(n, { ready: 'False' }), true);
  api.failing = (_, name) => (name === first ? new OrreryError('KUBE_SERVER', 'broken') : undefined);
  const outcome = await api.pass();
  expect(outcome).toMatchObject({ type: 'slices.failed', message: 'broken' });
  const ready = [...api.objects.values()].map(({ metadata, endpoints }) => [
    metadata.name === first,
    (endpoints as Array<{ conditions: { ready: boolean } }>).some(({ conditions }) => conditions.ready),
  ]);
  expect(ready.filter(([isFirst, isReady]) => isFirst !== isReady)).toEqual([]);
  api.failing = () => undefined;
  expect(await api.pass()).toMatchObject({ type: 'slices.reconciled', writes: 1 });
});

test('an endpoint whose new slice cannot be written stays in the old one', async () => {
  const api = new SliceApi(100);
  await api.pass();
  api.max = 30;
  api.failing = (operation) =>
    operation === 'create' ? new OrreryError('KUBE_SERVER', 'broken') : undefined;
  expect(await api.pass()).toMatchObject({ type: 'slices.failed' });
  expect(sizes(api)).toEqual([100]);
});

test('429 is waited out as the API server says', async () => {
  const api = new SliceApi();
  let refusals = 2;
  api.failing = () =>
    refusals-- > 0
      ? new OrreryError('KUBE_THROTTLED', 'wait', { facts: { retryAfterMs: 2_000 } })
      : undefined;
  const begun = api.clock.now();
  expect(await api.pass()).toMatchObject({ type: 'slices.reconciled', writes: 1 });
  expect(api.clock.now() - begun).toBeGreaterThanOrEqual(4_000);
});

test('429 for ever ends in a failure that says how long to wait', async () => {
  const api = new SliceApi();
  api.failing = () => new OrreryError('KUBE_THROTTLED', 'wait', { facts: { retryAfterMs: 3_000 } });
  expect(await api.pass()).toMatchObject({ type: 'slices.failed', retryAfterMs: 3_000 });
});

test.each([
  [
    'going',
    new OrreryError(
      'KUBE_REFUSED',
      'forbidden: unable to create new content in namespace shop because it is being terminated',
      { facts: { status: 403 } },
    ),
  ],
  ['gone', new OrreryError('KUBE_NOT_FOUND', 'namespaces "shop" not found')],
])('a namespace that is %s is no error', async (_, refusal) => {
  const api = new SliceApi();
  api.failing = () => refusal;
  expect(await api.pass()).toMatchObject({ type: 'slices.reconciled', writes: 0 });
});

test('a right that is missing is a failure', async () => {
  const api = new SliceApi();
  api.failing = () => new OrreryError('KUBE_REFUSED', 'forbidden', { facts: { status: 403 } });
  expect(await api.pass()).toMatchObject({ type: 'slices.failed' });
});

test('what changes while the pass writes is left to the next one, which gathers', async () => {
  const api = new SliceApi();
  api.before = () => api.index.setWorkload('shop', 'vm-3', workload(3), true);
  const outcome = await api.pass();
  expect(outcome).toMatchObject({ type: 'slices.reconciled', writes: 1 });
  const { made, wanted } = outcome as { made: string; wanted: string };
  expect(made).not.toBe(wanted);
  expect(Object.values(api.stand())).toEqual([names(3)]);
});

test('somebody who changes slices as fast as they are written ends in a failure, not in a loop', async () => {
  const api = new SliceApi();
  await api.pass();
  api.index.setWorkload('shop', 'vm-3', workload(3), true);
  api.before = (_, name) => {
    const held = api.objects.get(name);
    if (held) api.put({ ...held, metadata: { ...held.metadata } });
  };
  expect(await api.pass()).toMatchObject({ type: 'slices.failed' });
  expect(api.calls.length).toBeLessThan(10);
});

test('a pass begins when nothing has changed for a moment, and at the latest after its patience', async () => {
  const api = new SliceApi();
  const begun = api.clock.now();
  const change = (n: number) =>
    api.clock.after(n * 10, () => api.index.setWorkload('shop', `vm-${n + 3}`, workload(n + 3), true));
  for (let n = 0; n < 100; n++) change(n);
  await api.pass({ gather: { quietMs: 15, maxMs: 200 } });
  expect(api.clock.now() - begun).toBeGreaterThanOrEqual(200);
  expect(api.clock.now() - begun).toBeLessThan(240);
  expect(sizes(api)[0]).toBeGreaterThan(20);
});

test('what has been still while the step was saved is not waited for again', async () => {
  const writtenAfter = async (stillMs: number) => {
    const api = new SliceApi();
    await api.clock.advance(stillMs);
    const begun = api.clock.monotonic();
    let at = Number.NaN;
    api.before = () => {
      at = api.clock.monotonic() - begun;
    };
    await api.pass({ gather: { quietMs: 20, maxMs: 200 } });
    return at;
  };
  expect(await writtenAfter(0)).toBe(20);
  expect(await writtenAfter(15)).toBe(5);
  expect(await writtenAfter(30)).toBe(0);
});

test('a Service that is being deleted gets no new slices', async () => {
  const api = new SliceApi();
  api.index.setService('shop', 'web', { ...service, deleting: true });
  expect(await api.pass()).toMatchObject({ type: 'slices.reconciled', writes: 0 });
});

test('a Service that selects nothing any more loses its slices', async () => {
  const api = new SliceApi();
  await api.pass();
  const { selecting: _, ...without } = service;
  api.index.setService('shop', 'web', without);
  expect(await api.pass()).toMatchObject({ type: 'slices.reconciled', writes: 1, empty: true, version: '' });
  expect(api.stand()).toEqual({});
});

test('§5.4: owners that somebody adds to a slice are taken off again, in one write under its name', async () => {
  const api = new SliceApi();
  await api.pass();
  const [[name, object] = expect.fail('no slice')] = api.objects;
  const { ownerReferences = [] } = object.metadata;
  const ghost = { apiVersion: 'v1', kind: 'Service', name: 'ghost', uid: 'ghost-uid' };
  const edited = [ghost, { ...ghost, apiVersion: 'serving.knative.dev/v1' }, ...ownerReferences];
  api.put({ ...object, metadata: { ...object.metadata, ownerReferences: edited } });
  api.echo();
  expect(await api.pass()).toMatchObject({ type: 'slices.reconciled', writes: 1 });
  expect([...api.objects.keys()]).toEqual([name]);
  expect(api.objects.get(name)?.metadata.ownerReferences).toEqual(ownerReferences);
});

test('a slice that a finalizer holds is not counted on', async () => {
  const api = new SliceApi();
  await api.pass();
  const [held] = api.objects.values();
  if (held) {
    const leaving = api.put({
      ...held,
      metadata: { ...held.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    });
    api.index.setSlice('shop', held.metadata.name, sliceDigest(leaving));
  }
  expect(await api.pass()).toMatchObject({ writes: 1 });
  expect(Object.values(api.stand())).toEqual([names(3), names(3)]);
});

test('the trigger time is the Service’s creation at first, then the earliest transition that was not written yet, else none', async () => {
  const api = new SliceApi();
  const time = () => [...api.objects.values()][0]?.metadata.annotations?.[triggerTimeAnnotation];
  await api.pass();
  expect(time()).toBe('2026-01-01T00:00:00Z');
  const since = Date.UTC(2026, 5, 1);
  api.index.setWorkload('shop', 'vm-0', workload(0, { ready: 'False', readyAt: since + 9_000 }), true);
  api.index.setWorkload('shop', 'vm-1', workload(1, { ready: 'False', readyAt: since + 5_250 }), true);
  await api.pass({ since });
  expect(time()).toBe('2026-06-01T00:00:05.25Z');
  api.index.setService('shop', 'web', { ...service, labels: { team: 'a' } });
  await api.pass({ since: since + 20_000 });
  expect(time()).toBeUndefined();
});

test.each([
  ['409', new OrreryError('KUBE_CONFLICT', 'another version')],
  ['a failure', new OrreryError('KUBE_UNREACHABLE', 'no answer')],
])(
  'the trigger time of a change outlives %s: whichever write tells of the change has it',
  async (_, refusal) => {
    const api = new SliceApi();
    await api.pass();
    const readyAt = Date.UTC(2026, 4, 5, 6, 7, 8);
    api.index.setWorkload('shop', 'vm-0', workload(0, { ready: 'False', readyAt }), true);
    let refusals = 1;
    api.failing = (operation) => (operation === 'patch' && refusals-- > 0 ? refusal : undefined);
    const since = Date.UTC(2026, 5, 1);
    const outcome = await api.pass({ since });
    if (outcome.type === 'slices.failed') await api.pass({ since });
    const [slice] = api.objects.values();
    expect(slice?.metadata.annotations?.[triggerTimeAnnotation]).toBe('2026-05-05T06:07:08Z');
  },
);

test('a transition that is read while the picture is caught up with is told of like any other', async () => {
  const api = new SliceApi();
  await api.pass();
  const readyAt = Date.UTC(2026, 4, 5, 6, 7, 8);
  api.index.setWorkload('shop', 'vm-0', workload(0, { ready: 'False', readyAt }), false);
  await api.pass({ since: Date.UTC(2026, 5, 1) });
  const [slice] = api.objects.values();
  expect(slice?.metadata.annotations?.[triggerTimeAnnotation]).toBe('2026-05-05T06:07:08Z');
});

test('half of the endpoints gone, from every slice: half as many slices stand, with no write more', async () => {
  const api = new SliceApi(400);
  await api.pass();
  for (let n = 0; n < 400; n += 2) api.index.setWorkload('shop', `vm-${n}`, null, true);
  const left = new Set(names(400).filter((_, n) => n % 2 === 1));
  api.before = () => {
    const listed = new Set(Object.values(api.stand()).flat());
    expect([...left].filter((name) => !listed.has(name))).toEqual([]);
  };
  expect(await api.pass()).toMatchObject({ writes: 4, compactable: false });
  expect(sizes(api)).toEqual([100, 100]);
});

test.each([
  [100, 500],
  [400, 800],
  [1_200, 2_000],
])('§4.5: of %s endpoints that change without end, a pass gathers for %s ms', async (count, ms) => {
  const api = new SliceApi(count);
  await api.pass();
  const begun = api.clock.monotonic();
  const change = (at: number) => {
    const ready = at % 2 === 0 ? 'False' : 'True';
    api.index.setWorkload('shop', 'vm-0', workload(0, { ready }), true);
    if (api.clock.monotonic() < begun + 5_000) api.clock.after(5, () => change(at + 1));
  };
  change(0);
  await api.pass({ gather: { quietMs: 15, maxMs: 500, perSliceMs: 200 } });
  expect(api.clock.monotonic() - begun).toBeGreaterThanOrEqual(ms);
  expect(api.clock.monotonic() - begun).toBeLessThanOrEqual(ms + 20);
});

test('§4.4: slices of a Service that never rests are compacted after a minute', async () => {
  const api = new SliceApi(400);
  await api.pass();
  for (const names of Object.values(api.stand())) {
    for (const name of names.slice(0, 50)) api.index.setWorkload('shop', name, null, true);
    await api.pass();
  }
  const [[changing = ''] = []] = Object.values(api.stand());
  const n = Number(changing.slice('vm-'.length));
  const flip = async (at: number) => {
    api.echo();
    await api.clock.advance(6_000);
    api.index.setWorkload('shop', changing, workload(n, { ready: at % 2 === 0 ? 'False' : 'True' }), true);
    await api.pass();
  };
  for (let at = 0; at < 9; at++) await flip(at);
  expect(sizes(api)).toEqual([50, 50, 50, 50]);
  await flip(9);
  expect(sizes(api)).toEqual([100, 100]);
});

test('half of the endpoints gone, from one slice after the other: they are compacted when that is asked for', async () => {
  const api = new SliceApi(400);
  await api.pass();
  let last: unknown;
  for (const names of Object.values(api.stand())) {
    for (const name of names.slice(0, 50)) api.index.setWorkload('shop', name, null, true);
    last = await api.pass();
  }
  expect(last).toMatchObject({ writes: 1, compactable: true });
  expect(sizes(api)).toHaveLength(4);
  expect(await api.pass({ compact: true })).toMatchObject({ compactable: false });
  expect(sizes(api)).toHaveLength(2);
});
