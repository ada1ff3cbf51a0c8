/** Resources that only this feature addresses. */
import { ownResource } from '../../kube/api/resources.ts';

export const releases = ownResource('releases', 'Release', false);
