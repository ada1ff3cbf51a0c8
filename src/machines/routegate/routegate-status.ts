/**
 * A RouteGate's status, from the findings: counts, conditions, and the Events beside them
 * (docs/features/routes.md, “What people are told”). Pure.
 */
import { checksum } from '../checksum.ts';
import type { Deadlock } from '../pod/pod-facts.ts';
import type { GateFindings, Named, RouteGateFacts } from './routegate-facts.ts';

export interface Judgement {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

export interface GateCounts {
  readonly pods: number;
  readonly waiting: number;
  readonly ready: number;
  /** Selected Pods that do not list the condition type: nothing holds them back. */
  readonly ungated: number;
  /** Ready Pods with at least one verified Service, and with none. */
  readonly verified: number;
  readonly unverified: number;
  readonly longestWaitSeconds: number;
  /** The Pod that has waited that long. */
  readonly longestWaiting: string | null;
  readonly observedGeneration: number;
}

export interface GateStatus {
  readonly counts: GateCounts;
  readonly valid: Judgement;
  readonly verifying: Judgement;
}

type Verdict = { readonly [field in 'status' | 'reason']?: unknown };

/**
 * What a status says, in short, as it was written or as the object has it; without times, which change while
 * Pods wait, and without the words of its conditions.
 */
export function saidIn(status: {
  readonly counts: { readonly [field in keyof GateCounts]?: unknown };
  readonly valid: Verdict;
  readonly verifying: Verdict;
}): string {
  const { counts, valid, verifying } = status;
  const { pods, waiting, ready, ungated, verified, unverified, observedGeneration } = counts;
  const numbers = [pods, waiting, ready, ungated, verified, unverified, observedGeneration];
  const verdicts = [valid.status, valid.reason, verifying.status, verifying.reason];
  return checksum(JSON.stringify([...numbers, ...verdicts]));
}

/** The content of a Warning Event. */
export interface Warning {
  /** Each is told once; absent: the reason. */
  readonly key?: string;
  readonly reason: string;
  readonly message: string;
}

export const keyOf = ({ key, reason }: Warning): string => key ?? reason;

/** @param now ms since the epoch, when the findings were made */
export function statusOf(facts: RouteGateFacts, findings: GateFindings | null, now: number): GateStatus {
  const { generation: observedGeneration, invalid } = facts;
  const refusal =
    invalid !== null || findings === null
      ? { reason: 'InvalidSpec', message: invalid ?? '' }
      : findings.refusal;
  if (refusal !== null || findings === null) {
    const judgement = { status: 'False', reason: '', message: '', ...refusal } as const;
    return { counts: { ...nothing, observedGeneration }, valid: judgement, verifying: judgement };
  }
  const { pods, first } = findings;
  const { held, waiting, ungated, verified, unverified } = pods;
  return {
    counts: {
      pods: held,
      waiting,
      ready: held - waiting,
      ungated,
      verified,
      unverified,
      longestWaitSeconds: first ? Math.floor(Math.max(0, now - first.since) / 1000) : 0,
      longestWaiting: first?.name ?? null,
      observedGeneration,
    },
    valid: usable(pods.others),
    verifying: verifyingOf(findings),
  };
}

const nothing = {
  pods: 0,
  waiting: 0,
  ready: 0,
  ungated: 0,
  verified: 0,
  unverified: 0,
  longestWaitSeconds: 0,
  longestWaiting: null,
};

/** @param others selected Pods that another gate holds */
function usable(others: number): Judgement {
  if (others === 0) return { status: 'True', reason: 'InUse', message: 'the spec is in use' };
  const message = `${others} of the selected Pods are held by an older RouteGate of the same condition type`;
  return { status: 'True', reason: 'Overlaps', message };
}

export function listed({ names, count }: Named): string {
  const rest = count - names.length;
  return `${names.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

function verifyingOf(findings: GateFindings): Judgement {
  const { services, unaskable, emptyGroups, isPortMissing, pods } = findings;
  const no = (reason: string, message: string): Judgement => ({ status: 'False', reason, message });
  // An object that is not listed yet must not look like one that does not exist.
  if (!findings.isComplete)
    return {
      status: 'Unknown',
      reason: 'NotListed',
      message: unlistedText(findings),
    };
  if (findings.unservedOwner !== undefined) return no('NoSuchKind', unservedText(findings.unservedOwner));
  if (services === 0)
    return no(
      'NothingToVerify',
      'no Service has the labels of serviceSelector and group.serviceLabel of any Pod',
    );
  if (findings.crowdedGroups.count > 0)
    return no(
      'TooManyServices',
      `nothing is verified in groups of more than ${findings.servicesMax} Services: ${listed(findings.crowdedGroups)}`,
    );
  if (emptyGroups.count > 0)
    return no(
      'NothingToVerify',
      `no Service belongs to the groups ${listed(emptyGroups)}: give one that serviceSelector selects the label group.serviceLabel with that value, or correct group.podLabel of the Pods`,
    );
  if (unaskable.count > 0) {
    const message = `${unaskable.count} of ${services} Services cannot be probed: ${listed(unaskable)}`;
    return no(isPortMissing ? 'PortMissing' : 'Unverified', message);
  }
  const deadlocks = deadlocksOf(findings);
  if (deadlocks.length > 0) return no('Deadlock', deadlocks.map(({ message }) => message).join('. '));
  if (pods.unverified > 0)
    return no(
      'Unverified',
      `${pods.unverified} Pods became Ready although no Service could be verified for them; Pods that replace them are verified once one can be`,
    );
  return { status: 'True', reason: 'Verifying', message: askedText(services) };
}

function unlistedText({ unlistedOwner }: GateFindings): string {
  if (unlistedOwner === undefined) return 'not every object that the RouteGate names has been listed yet';
  return `${unlistedOwner}, the kind that owns the groups, has not been listed yet, and no Pod is released before; if this goes on, Orrery may lack the right to list it: give a ClusterRole that allows get, list and watch the label orrery.dev/aggregate-to-group-resources: "true"`;
}

const unservedText = (kind: string): string =>
  `the cluster has no kind ${kind}, which owns the groups by spec.groupResource, so no Pod is released; install its definition, or correct spec.groupResource`;

/** Why Pods and Services wait for each other, and what to change: docs/features/routes.md §7.4. */
export function deadlocksOf(findings: GateFindings): Warning[] {
  const says = (deadlock: Deadlock, text: string): Warning[] => {
    const named = findings[deadlock];
    const message = `${listed(named)}: ${text}`;
    return named.count > 0 ? [{ key: `Deadlock/${deadlock}`, reason: 'Deadlock', message }] : [];
  };
  return [
    ...says(
      'notPublished',
      'the Service publishes Ready Pods only, and they become Ready only through the Service; set publishNotReadyAddresses: true, or remove it from serviceSelector',
    ),
    ...says(
      'affine',
      'with sessionAffinity ClientIP each replica of Orrery always reaches the same Pod; remove the affinity, or gate on a Service without it',
    ),
    ...says(
      'local',
      'with internalTrafficPolicy Local only Pods on nodes with a replica of Orrery are reached; remove the policy, or gate on a Service without it',
    ),
  ];
}

/** The Events beside the status, one for each reason and deadlock: errors, and likely mistakes. */
export function warningsOf({ valid, verifying }: GateStatus, findings: GateFindings | null): Warning[] {
  const inUse = findings?.refusal === null ? findings : null;
  const isEarly = inUse !== null && isWithoutPods(inUse);
  const wrong = [valid, verifying].filter(
    ({ status, reason }) =>
      status === 'False' && reason !== 'Deadlock' && !(isEarly && reason === 'NothingToVerify'),
  );
  const unlisted = inUse?.unlistedOwner === undefined ? [] : [verifying];
  const all: Warning[] = [
    ...wrong,
    ...unlisted,
    ...(inUse === null ? [] : deadlocksOf(inUse)),
    ...(inUse?.largeGroups ?? []).map(tooLarge),
    ...ungatedWarning(inUse),
    ...(inUse?.formerTypes ?? []).map((one) => formerWarning(one, inUse?.conditionType ?? '')),
  ];
  // Valid and Verifying have the same reason if the specification is unusable.
  return all.filter((one, n) => all.findIndex((other) => keyOf(other) === keyOf(one)) === n);
}

/** A RouteGate is mostly created a moment before the Services and Pods that it is for. */
const isWithoutPods = ({ pods: { held, ungated, others } }: GateFindings) => held + ungated + others === 0;

const tooLarge = ({ group, pods }: GateFindings['largeGroups'][number]): Warning => ({
  reason: 'GroupTooLarge',
  message: `group ${group} has ${pods} Pods, more than a Service can track at once: they take turns, and lost routes are noticed for some of them only`,
});

function ungatedWarning(findings: GateFindings | null): Warning[] {
  if (findings === null || findings.pods.ungated === 0) return [];
  const { pods, conditionType } = findings;
  const message = `${pods.ungated} of the selected Pods do not list ${conditionType} in spec.readinessGates; nothing holds them back`;
  return [{ reason: 'PodsUngated', message }];
}

/** Pods of an old template never become Ready; told before the first of them is made. */
function formerWarning(
  { conditionType, pods, waiting }: NonNullable<GateFindings['formerTypes']>[number],
  present: string,
): Warning {
  const message = `${pods} of the selected Pods list ${conditionType} in spec.readinessGates, which no RouteGate of the namespace has as its conditionType any more. ${waiting === 0 ? 'They stay Ready, but' : `${waiting} of them wait for it for ever, and`} Pods that replace them never become Ready; put ${present} in its place in the template of the Pods`;
  return { key: `ConditionTypeGone/${conditionType}`, reason: 'ConditionTypeGone', message };
}

/** In words; a count of things is always worded like this. */
export function askedText(services: number): string {
  if (services === 0) return 'no Service is probed';
  return services === 1 ? '1 Service is probed' : `${services} Services are probed`;
}
