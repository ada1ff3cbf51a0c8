/**
 * Why a Service stands as it stands: its EndpointSlices, and the Pods that want to know whether it reaches
 * them. Pure.
 */
import type { Fact } from '../../base/views.ts';
import { isIn, type Standing, tells } from '../tell.ts';
import type { ServiceContext } from './service-context.ts';
import { slicesFacts, slicesReason } from './slices-reason.ts';

export const tellService = tells<ServiceContext>((standing) => {
  const told = [routesReason(standing), slicesReason(standing)].filter((text) => text !== null);
  // What is wrong is said first.
  if (isIn(standing, 'endpoints.stuck')) told.reverse();
  const facts = [...routesFacts(standing.context), ...slicesFacts(standing.context)];
  return { text: told.join('; ') || nobodysText, facts };
});

const nobodysText =
  'no Pod asks whether the Service reaches it, and no workload outside of the cluster belongs to it';

/** null: nobody wants to know. */
function routesReason(standing: Standing<ServiceContext>): string | null {
  const { facts, wants } = standing.context;
  if (facts === null || isIn(standing, 'routes.idle') || isIn(standing, 'routes.gone')) return null;
  if (wants.length === 0) return 'the Service reaches every Pod that asked';
  return wants.length === 1
    ? 'one Pod waits for a proof that the Service reaches it'
    : `${wants.length} Pods wait for a proof that the Service reaches them`;
}

function routesFacts({ facts, wants, watched }: ServiceContext): readonly Fact[] {
  if (facts === null) return [];
  return [
    { label: 'Pods that wait', value: wants.length },
    { label: 'Pods that are watched', value: watched.length },
  ];
}
