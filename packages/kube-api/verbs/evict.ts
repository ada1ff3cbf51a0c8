/**
 * Eviction: deletes a Pod after asking its disruption budget.
 *
 * Promises: a running Pod is evicted only while its only budget has a disruption left, which is taken in the
 * same step; otherwise the answer is 429 and nothing changes. A Pod that does not run yet, or no longer,
 * needs no budget.
 */
import { type LabelSelector, selects } from '../../../src/base/digests.ts';
import { kubeTime } from '../../../src/base/kube-time.ts';
import type { Answer, ApiRequest, Target } from '../http/request.ts';
import { numberAt, objectAt, objectsAt, textAt } from '../json.ts';
import { builtinSchema } from '../schema/builtin-schemas.ts';
import { DecodeError, decode } from '../schema/typed-decode.ts';
import { badRequest, forbidden, plainError, tooManyRequests } from '../status.ts';
import type { Version } from '../storage/version.ts';
import type { StoredObject } from '../stored-object.ts';
import type { Cluster } from '../verb-parts.ts';
import { bodyObject } from '../writing/body.ts';
import { isDryRun } from '../writing/options.ts';
import { removeObject } from '../writing/remove.ts';
import { save } from '../writing/replace.ts';
import { optionsOf } from './delete.ts';
import { existing } from './read.ts';

export const budgetStorage = 'policy/poddisruptionbudgets';
/** Pods that one budget may wait for; Kubernetes' bound. */
const disruptedPodsMax = 2_000;
const refusal = "Cannot evict pod as it would violate the pod's disruption budget.";

export function evictPod(cluster: Cluster, request: ApiRequest, target: Target): Answer {
  const eviction = sentEviction(request, target);
  if (textAt(eviction, 'metadata', 'name') !== target.name)
    throw badRequest('name in URL does not match name in Eviction object');
  const given = optionsOf(objectAt(eviction, 'deleteOptions') ?? {});
  const options = { ...given, isDryRun: given.isDryRun || isDryRun(request.query) };
  const version = existing(cluster, target);
  if (needsBudget(version.object)) spendBudget(cluster, version.object, options.isDryRun);
  removeObject(cluster, target.resource, version, options);
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };
  return { code: 201, body: JSON.stringify(status) };
}

function sentEviction(request: ApiRequest, target: Target) {
  const kind = 'Eviction';
  try {
    return decode(builtinSchema(kind), bodyObject(request, { ...target.resource, kind }), []);
  } catch (thrown) {
    if (!(thrown instanceof DecodeError)) throw thrown;
    throw badRequest(`${kind} in version "v1" cannot be handled as a ${kind}: ${thrown.message}`);
  }
}

function needsBudget(pod: StoredObject): boolean {
  const hasEnded = ['Succeeded', 'Failed', 'Pending'].includes(textAt(pod, 'status', 'phase'));
  return !hasEnded && pod.metadata.deletionTimestamp === undefined;
}

/** @throws ApiError 429 without a disruption left, 500 if several budgets hold the Pod */
function spendBudget(cluster: Cluster, pod: StoredObject, dryRun: boolean): void {
  const budgets = budgetsOf(cluster, pod);
  if (budgets.length > 1)
    throw plainError(
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    );
  const [budget] = budgets;
  if (budget === undefined || mayGoUnready(pod, budget.object)) return;
  const spent = withoutOne(budget.object, pod.metadata.name, kubeTime(cluster.clock.now()));
  const resource = cluster.registry.findStorage(budgetStorage);
  if (resource !== undefined) save(cluster, resource, budget, spent, dryRun);
}

/** Budgets of the Pod's namespace that select it; a Pod without labels has none. */
function budgetsOf(cluster: Cluster, { metadata }: StoredObject): Version[] {
  const { labels = {}, namespace = '' } = metadata;
  if (Object.keys(labels).length === 0) return [];
  const budgets = cluster.store.collection(budgetStorage).list(namespace);
  return budgets.filter(({ object }) => budgetSelects(object, labels));
}

/** An empty selector selects every Pod, an absent one none. */
export function budgetSelects(budget: StoredObject, labels: Readonly<Record<string, string>>): boolean {
  const selector = objectAt(budget, 'spec', 'selector');
  return selector !== undefined && selects(selector as LabelSelector, labels);
}

/** An unready Pod costs its budget nothing if the budget's policy lets it go. */
function mayGoUnready(pod: StoredObject, budget: StoredObject): boolean {
  if (isReady(pod)) return false;
  if (textAt(budget, 'spec', 'unhealthyPodEvictionPolicy') === 'AlwaysAllow') return true;
  const healthy = numberAt(budget, 'status', 'currentHealthy') ?? 0;
  const desired = numberAt(budget, 'status', 'desiredHealthy') ?? 0;
  return healthy >= desired && desired > 0;
}

export function isReady(pod: StoredObject): boolean {
  return objectsAt(pod, 'status', 'conditions').some(
    ({ type, status }) => type === 'Ready' && status === 'True',
  );
}

function withoutOne(budget: StoredObject, pod: string, now: string): StoredObject {
  const { name, generation = 0 } = budget.metadata;
  const status = objectAt(budget, 'status') ?? {};
  const allowed = numberAt(status, 'disruptionsAllowed') ?? 0;
  const disruptedPods = objectAt(status, 'disruptedPods') ?? {};
  const cause = (message: string) => [{ reason: 'DisruptionBudget', message }];
  if ((numberAt(status, 'observedGeneration') ?? 0) < generation)
    throw tooManyRequests(
      refusal,
      cause(`The disruption budget ${name} is still being processed by the server.`),
      10,
    );
  const resource = { plural: 'poddisruptionbudgets', group: 'policy' };
  if (allowed < 0) throw forbidden(resource, name, 'pod disruption budget is negative');
  if (Object.keys(disruptedPods).length > disruptedPodsMax)
    throw forbidden(
      resource,
      name,
      'DisruptedPods map too big - too many evictions not confirmed by PDB controller',
    );
  if (allowed === 0)
    throw tooManyRequests(
      refusal,
      cause(
        `The disruption budget ${name} needs ${numberAt(status, 'desiredHealthy') ?? 0} healthy pods and has ${numberAt(status, 'currentHealthy') ?? 0} currently`,
      ),
    );
  const spent = {
    ...status,
    disruptionsAllowed: allowed - 1,
    disruptedPods: { ...disruptedPods, [pod]: now },
  };
  return { ...budget, status: spent };
}
