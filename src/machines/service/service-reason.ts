/** Why a Service is where it is: its EndpointSlices, and the Pods that wait for it to reach them. Pure. */
import type { Fact } from '../../base/views.ts';
import { isIn, type Standing, tells } from '../tell.ts';
import { answerText } from './route-words.ts';
import { isWatching, type ServiceContext, type Want } from './service-context.ts';
import { slicesFacts, slicesReason } from './slices-reason.ts';

export const tellService = tells<ServiceContext>((standing) => {
  const told = [routesReason(standing), slicesReason(standing)].filter((text) => text !== null);
  // Trouble comes first.
  if (isIn(standing, 'endpoints.stuck')) told.reverse();
  const facts = [...routesFacts(standing.context), ...slicesFacts(standing.context)];
  return { text: told.join('; ') || nobodysText, facts };
});

const nobodysText =
  'no Pod asks whether the Service reaches it, and no workload outside the cluster belongs to it';

/** Pods that are named; the rest are counted. */
const namesMax = 5;

function listed(pods: readonly Want[]): string {
  const names = pods.slice(0, namesMax).map(({ pod }) => pod.slice(pod.lastIndexOf('/') + 1));
  const rest = pods.length - names.length;
  return `${names.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

/** null: nobody asks. */
function routesReason(standing: Standing<ServiceContext>): string | null {
  const { context } = standing;
  const { facts, wants, watched, lastRound, fruitless } = context;
  if (facts === null || isIn(standing, 'routes.resting.idle') || isIn(standing, 'routes.gone')) return null;
  const missed = isWatching(context) ? watched.filter((one) => one.missed > 0) : [];
  if (wants.length === 0 && missed.length > 0)
    return `the Service did not reach ${listed(missed)} in its last round; another follows soon`;
  if (wants.length === 0) return 'the Service reaches every Pod that asked';
  const waiting =
    wants.length === 1
      ? `one Pod waits for a proof that the Service reaches it: ${listed(wants)}`
      : `${wants.length} Pods wait for a proof that the Service reaches them: ${listed(wants)}`;
  if (isIn(standing, 'routes.inquiring'))
    return `${waiting}; no answer named its Pod, and the group's other Services are asked whether theirs ever did`;
  if (lastRound === null || fruitless === 0) return waiting;
  const rounds = fruitless === 1 ? 'one round' : `${fruitless} rounds`;
  return `${waiting}; ${rounds} proved nothing new, the last: ${answerText(context)}`;
}

function routesFacts({ facts, wants, watched }: ServiceContext): readonly Fact[] {
  if (facts === null) return [];
  return [
    { label: 'Pods that wait', value: wants.length },
    { label: 'Pods that are watched', value: isWatching({ facts }) ? watched.length : 0 },
  ];
}
