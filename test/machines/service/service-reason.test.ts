/** Why a Service stands as it stands: its EndpointSlices, and the Pods that want a proof. */
import { expect, test } from 'vitest';
import type { ServiceEvent } from '../../../src/machines/service/route-events.ts';
import { answerText } from '../../../src/machines/service/route-words.ts';
import type { ServiceContext } from '../../../src/machines/service/service-context.ts';
import type { EndpointsFacts } from '../../../src/machines/service/slices-events.ts';
import { ActorDriver } from '../actor-driver.ts';
import { toldOf } from '../told.ts';
import { forgotten, observed, wanted as wantedBy } from './service-script.ts';

type Driver = ActorDriver<ServiceEvent, ServiceContext>;

const facts: EndpointsFacts = {
  uid: 'web-1',
  selects: true,
  wanted: 'A',
  standing: '-',
  empty: true,
  otherWriter: '',
};
const seen = (change: Partial<EndpointsFacts> = {}): ServiceEvent => ({
  type: 'service.endpoints.observed',
  facts: { ...facts, ...change },
});
const ended = (pass: number, compactable = false): ServiceEvent => ({
  type: 'slices.reconciled',
  compactable,
  ...{ pass, made: 'A', wanted: 'A', standing: 'S', empty: false, version: '7', writes: 1 },
});
const failed = (service: Driver): ServiceEvent => ({
  type: 'slices.failed',
  pass: service.context.slices.pass,
  message: 'PATCH endpointslices: 403',
  retryAfterMs: 0,
  end: null,
});
const begin = (...events: readonly ServiceEvent[]): Driver =>
  new ActorDriver<ServiceEvent, ServiceContext>('service', 'shop', 'web').take(...events);
const told = (service: Driver) => toldOf('service', service);
const failing = (tries: number): Driver => {
  const service = begin(seen());
  for (let n = 0; n < tries; n++) {
    if (n > 0) service.wait(service.patience ?? 0);
    service.take(failed(service));
  }
  return service;
};

test('slices that are being written, that stand, and that half as many could hold', () => {
  const service = begin(seen());
  expect(told(service)).toMatchObject({
    health: 'waiting',
    text: 'the EndpointSlices are being updated to match the workloads',
  });
  service.take(ended(1));
  expect(told(service)).toMatchObject({
    health: 'ok',
    text: 'the EndpointSlices match the workloads',
    facts: { 'Slices looked at': service.now },
  });
  expect(told(begin(seen(), ended(1, true))).text).toBe(
    'the EndpointSlices match the workloads; half as many would do',
  );
});

test('a Service that gets none says why', () => {
  const none = { wanted: '', standing: '', empty: true };
  expect(told(begin(seen({ ...none, selects: false })))).toMatchObject({
    health: 'ok',
    text: 'the Service selects nothing, so it gets no EndpointSlices',
  });
});

test('a Service for which nothing calls says so', () => {
  const text =
    'no Pod asks whether the Service reaches it, and no workload outside the cluster belongs to it';
  expect(told(begin(observed()))).toMatchObject({ health: 'ok', text });
  expect(told(begin(observed(), forgotten)).text).toBe(text);
});

test('a pass that failed tells how often, and of what; so does one that is made again', () => {
  const service = failing(1);
  expect(told(service)).toMatchObject({
    health: 'waiting',
    text: 'the EndpointSlices could not be written, 1 try failed: PATCH endpointslices: 403',
    facts: { 'Failed tries': 1 },
  });
  service.wait(service.patience ?? 0);
  expect(told(service).text).toBe(
    'the EndpointSlices are being written again, 1 try failed: PATCH endpointslices: 403',
  );
});

test('a stuck Service is wrong, until a pass succeeds (docs/features/endpoints.md §6.2)', () => {
  const service = failing(16);
  expect(told(service)).toMatchObject({
    health: 'wrong',
    text: 'the EndpointSlices cannot be written, 16 tries failed: PATCH endpointslices: 403; retried every few minutes',
  });
  service.wait(service.patience ?? 0);
  expect(told(service).text).toContain('they are being written again now');
  service.take({ type: 'slices.unlisted', pass: service.context.slices.pass });
  expect(told(service)).toMatchObject({ health: 'wrong', text: expect.stringContaining('listed again') });
  service.wait(service.patience ?? 0);
  service.take(ended(service.context.slices.pass));
  expect(told(service)).toMatchObject({
    health: 'ok',
    text: 'the EndpointSlices match the workloads',
  });
});

test('the errors of rounds for Pods are not told as those of the slices', () => {
  const service = failing(16).take(observed(), wantedBy(1));
  const { round } = service.context;
  service.take({ type: 'sample.failed', round, message: 'no name server answers' });
  expect(service.context.lastError).toBe('no name server answers');
  expect(told(service).text).toMatch(
    /^the EndpointSlices cannot be written, 16 tries failed: PATCH .*: 403;/,
  );
  service.take(seen({ wanted: 'B' }));
  expect(told(service).text).toMatch(/^the EndpointSlices cannot be written, the last try failed: PATCH/);
});

test('lists that are waited for are no failure (§5.6)', () => {
  const service = begin(seen(), { type: 'slices.unlisted', pass: 1 });
  expect(told(service)).toMatchObject({
    health: 'waiting',
    text: 'the EndpointSlices wait: nothing is written until Services, workloads and slices have all been listed again',
  });
});

test('another controller that writes for the Service is named (§7.1)', () => {
  const service = begin(seen({ otherWriter: 'linkerd-external-workloads-controller' }), ended(1));
  expect(told(service)).toMatchObject({
    text: 'the EndpointSlices match the workloads; linkerd-external-workloads-controller also writes EndpointSlices for the Service',
    facts: { 'Other controller': 'linkerd-external-workloads-controller' },
  });
});

test('Pods that wait for a proof are told of first, unless the slices are stuck', () => {
  const wanted: ServiceEvent = {
    type: 'route.wanted',
    ...{ pod: 'pod/shop/web-1', uid: 'u-1', ip: '10.0.0.1', family: 'IPv4' },
  };
  const asked = begin(observed(), seen(), ended(1), wanted);
  expect(told(asked)).toMatchObject({
    text: 'one Pod waits for a proof that the Service reaches it: web-1; the EndpointSlices match the workloads',
    facts: { 'Pods that wait': 1 },
  });
  const stuck = failing(16).take(observed(), wanted);
  expect(told(stuck).text).toMatch(/^the EndpointSlices cannot be written.*; one Pod waits/);
});

test('who waits is named, and what answered in their place', () => {
  const wanted = (n: number): ServiceEvent => ({
    type: 'route.wanted',
    ...{ pod: `pod/shop/web-${n}`, uid: `u-${n}`, ip: `10.0.0.${n}`, family: 'IPv4' },
  });
  const service = begin(observed(), ...[1, 2, 3, 4, 5, 6, 7].map(wanted));
  expect(told(service).text).toBe(
    '7 Pods wait for a proof that the Service reaches them: web-1, web-2, web-3, web-4, web-5 and 2 more',
  );
  const summary = {
    healthy: ['10.0.0.9'],
    unhealthy: [],
    anonymous: 0,
    unreachable: 2,
    lastError: 'ECONNREFUSED',
  };
  service.take({ type: 'sample.finished', round: service.context.round, calls: 3, summary });
  expect(told(service).text).toMatch(
    /and 2 more; one round proved nothing new, the last: calls failed: ECONNREFUSED; answered by 10.0.0.9$/,
  );
});

test('rounds that saw the same are told in the same words, however many calls they made and in whatever order', () => {
  const seen = (healthy: readonly string[], unreachable: number, anonymous: number) => {
    const service = begin(observed(), wantedBy(1));
    const summary = { healthy, unhealthy: [], anonymous, unreachable, lastError: 'ECONNREFUSED' };
    service.take({ type: 'sample.finished', round: service.context.round, calls: 9, summary });
    return answerText(service.context);
  };
  expect(seen(['10.0.0.9', '10.0.0.3'], 3, 1)).toBe(seen(['10.0.0.3', '10.0.0.9', '10.0.0.8'], 2, 4));
  expect(seen(['10.0.0.9', '10.0.0.3'], 3, 1)).toMatch(
    /^answers without .*; calls failed: ECONNREFUSED; answered by 10\.0\.0\.3 and others$/,
  );
});

test('an answer without the header is told with its status, before what others answer', () => {
  const service = begin(observed(), wantedBy(1));
  const summary = {
    ...{ healthy: ['10.0.0.9'], unhealthy: [], unreachable: 0, lastError: null },
    ...{ anonymous: 2, anonymousStatus: 404 },
  };
  service.take({ type: 'sample.finished', round: service.context.round, calls: 9, summary });
  expect(answerText(service.context)).toBe(
    'answers with status 404 and without Pod-IPv4 or Pod-IPv6; answered by 10.0.0.9',
  );
});
