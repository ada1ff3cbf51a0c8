/** Resources that only this feature uses. */
import { coreResource, ownResource } from '../../kube/api/resources.ts';

export const pods = coreResource('pods', 'Pod');
export const routeGates = ownResource('routegates', 'RouteGate');
