/** From when a Pod that is held back needs a look: docs/features/routes.md §7.16. Pure. */
import { type PodContext, unproven, unverifiable } from './pod-context.ts';

/** A slow start takes minutes; what lasts until somebody changes it need not be waited for. */
export const overdueMs = (context: PodContext): number =>
  context.facts?.address !== null && isHindered(context) ? 60_000 : 300_000;

/** No Service at all, one that cannot be verified, or one that does not lead to the Pod. */
function isHindered(context: PodContext): boolean {
  const { services = {}, deadlocks = {} } = context.facts ?? {};
  const reasons = unverifiable(context);
  const isKnown = (name: string) => reasons[name] !== undefined || (deadlocks[name] ?? []).length > 0;
  return Object.keys(services).length === 0 || unproven(context).some(isKnown);
}
