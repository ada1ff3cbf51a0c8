/** What a Service may be told a little later, so that one step takes it all. */
import { expect, test } from 'vitest';
import type { ServiceEvent } from '../../../src/machines/service/route-events.ts';
import type { EndpointsFacts } from '../../../src/machines/service/slices-events.ts';
import { patienceOfService } from '../../../src/machines/service/waiting-events.ts';
import {
  answered,
  forgotten,
  newService,
  observed,
  probe,
  routes,
  unwanted,
  wanted,
} from './service-script.ts';

type Service = ReturnType<typeof newService>;
const patience = (service: Service, ...events: ServiceEvent[]) =>
  patienceOfService({ states: [`routes.${routes(service)}`], context: service.context }, events);

test('while a round is in work, questions and news of the same routes wait', () => {
  const service = newService(observed(), wanted(1));
  expect(routes(service)).toBe('sampling');
  expect(patience(service, wanted(2))).toBe(5_000);
  expect(patience(service, observed({ routesToken: 'another' }), wanted(2), wanted(3))).toBe(5_000);
});

test('while nobody wants a proof, news of the same routes wait for the next question', () => {
  const service = newService(observed());
  expect(patience(service, observed({ routesToken: 'another' }))).toBe(5_000);
  expect(patience(service, observed({ routesToken: 'another' }), wanted(1))).toBe(0);
});

test('where routes are watched, news wait for half a second at most, and that they are is known at once', () => {
  const ready = observed({ readyAddresses: ['10.0.0.1'] });
  const service = newService(ready, wanted(1));
  expect(patience(service, observed({ readyAddresses: [] }))).toBe(500);
  expect(patience(service.take(answered(1, 1)), observed({ readyAddresses: [] }))).toBe(500);
  expect(patience(newService(observed()), ready)).toBe(0);
});

test('an answer, a question taken back, other routes and the end of the Service are taken at once', () => {
  const service = newService(observed(), wanted(1));
  const elsewhere = observed({
    probes: { IPv4: { ...probe, url: 'http://10.9.9.9:80/healthz' }, IPv6: null },
  });
  for (const event of [answered(1, 1), unwanted(1), elsewhere, forgotten]) {
    expect(patience(service, event)).toBe(0);
    expect(patience(service, wanted(2), event)).toBe(0);
  }
});

test('a Service at leisure asks at once', () => {
  expect(patience(newService(observed()), wanted(1))).toBe(0);
});

test('that the Service has no slices of ours is no news, whatever the state', () => {
  const nothing: ServiceEvent = { type: 'service.endpoints.observed', facts: null };
  const service = newService(observed());
  expect(patience(service, nothing)).toBe(5_000);
  expect(patience(service.take(wanted(1)), nothing, wanted(2))).toBe(5_000);
  const facts = { wanted: 'x', standing: 'x' } as unknown as EndpointsFacts;
  expect(patience(service, { ...nothing, facts })).toBe(0);
});
