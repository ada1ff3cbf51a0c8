/** Resources that only this feature uses. */
import { ownResource } from '../../kube/api/resources.ts';

export const releases = ownResource('releases', 'Release', false);
