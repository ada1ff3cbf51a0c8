/** Resources that only this feature addresses. */
import { coreResource } from '../../kube/api/resources.ts';

export const nodes = coreResource('nodes', 'Node', false);
