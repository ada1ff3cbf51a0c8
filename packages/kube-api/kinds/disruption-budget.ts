/**
 * PodDisruptionBudgets: how many Pods of a selector may be evicted. Owns the rules of the object.
 * `controllers/disruption-budgets.ts` computes the numbers in its status, `verbs/evict.ts` spends them.
 */
import { type Cause, invalidValue, notSupported } from '../causes.ts';
import { type Json, objectAt } from '../json.ts';
import type { StoredObject } from '../stored-object.ts';
import { type Kind, plainKind, unsupportedField } from './kind.ts';

export const disruptionBudgetKind: Kind = {
  ...plainKind,
  unconditionalUpdate: false,
  unknownField: unsupportedField,
  generation: (budget) => budget.spec ?? null,
  create: (budget) => {
    budget.status = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 };
  },
  check,
};

const policies = ['AlwaysAllow', 'IfHealthyBudget'];

function check(budget: StoredObject): Cause[] {
  const spec = objectAt(budget, 'spec') ?? {};
  const { minAvailable, maxUnavailable, unhealthyPodEvictionPolicy: policy } = spec;
  const both =
    minAvailable === undefined || maxUnavailable === undefined
      ? []
      : [invalidValue('spec', spec, 'minAvailable and maxUnavailable cannot be both set')];
  return [
    ...both,
    ...boundCauses('spec.minAvailable', minAvailable),
    ...boundCauses('spec.maxUnavailable', maxUnavailable),
    ...(policy === undefined || policies.includes(String(policy))
      ? []
      : [notSupported('spec.unhealthyPodEvictionPolicy', policy, policies)]),
  ];
}

/** A non-negative number, or a percentage of at most 100. */
function boundCauses(field: string, bound: Json | undefined): Cause[] {
  if (typeof bound === 'number')
    return bound < 0 ? [invalidValue(field, bound, 'must be greater than or equal to 0')] : [];
  if (typeof bound !== 'string') return [];
  if (!/^[0-9]+%$/.test(bound))
    return [
      invalidValue(
        field,
        bound,
        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
      ),
    ];
  return Number.parseInt(bound, 10) > 100
    ? [invalidValue(field, bound, 'must not be greater than 100%')]
    : [];
}
