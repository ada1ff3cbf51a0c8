/**
 * `service/<ns>/<name>`: region `routes` samples the Service's health endpoint on behalf of all Pods of its
 * group and tells each Pod when the Service was seen to reach it, or no longer reaches it. Region `endpoints`
 * (endpoints-region.ts) keeps the EndpointSlices for workloads outside the cluster. The actor ends when
 * neither is called for.
 *
 * Senders: the router (`service.observed`), Pods (`route.wanted`, `route.unwanted`, `route.watched`), the
 * sampling effect (`sample.*`), the group's other Services (`header.*`), people (`service.recheck`).
 * Promises:
 * - A Pod is told `route.proven` only for an answer with status 200 that carried its own address, from a
 *   round that asked this very Service.
 * - An answer counts for the Pod that gave it, whichever Pod the round looked for.
 * - Answers without the header prove nothing, unless no answer of the group ever carried it; then every Pod
 *   that asked is told so.
 * - Rounds continue as long as somebody wants a proof, and none runs while nobody wants or watches.
 * Absent: HTTP (the effect), any opinion on what a Pod does with the proof.
 */

import type { Chart } from '../chart.ts';
import { endpointsRegion } from './endpoints-region.ts';
import { routesRegion } from './routes-region.ts';
import { newborn } from './service-context.ts';
import { serviceEffects } from './service-effects.ts';
import { serviceMigrations } from './service-migrations.ts';
import { tellService } from './service-reason.ts';
import { serviceSetup } from './service-setup.ts';
import { merged, patienceOfService } from './waiting-events.ts';

export const serviceMachine = serviceSetup.createMachine({
  id: 'service',
  context: ({ input }) => newborn(input),
  type: 'parallel',
  states: {
    routes: routesRegion,
    endpoints: endpointsRegion,
  },
});

export const serviceChart: Chart = {
  name: 'service',
  shortName: 'svc',
  version: 4,
  description: 'Samples a Service and says which of the Pods behind it answer.',
  machine: serviceMachine,
  durable: true,
  createdBy: ['service.observed', 'service.endpoints.observed'],
  effects: serviceEffects,
  migrations: serviceMigrations,
  merge: merged,
  patience: patienceOfService,
  tell: tellService,
};
