/** Resources that only this feature uses. */
import { coreResource, ownResource } from '../../kube/api/resources.ts';

export const namespaces = coreResource('namespaces', 'Namespace', false);
export const secrets = coreResource('secrets', 'Secret');
export const domains = ownResource('domains', 'Domain');
export const issuers = ownResource('issuers', 'Issuer', false);
