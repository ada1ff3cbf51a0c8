/** Resources that only this feature uses. */
import { coreResource } from '../../kube/api/resources.ts';

export const nodes = coreResource('nodes', 'Node', false);
