/** Why a RouteGate stands as it does, in one sentence: its conditions, and who waits. Pure. */
import type { Fact } from '../../base/views.ts';
import { age } from '../../base/words.ts';
import { isIn, type Standing, type Told } from '../tell.ts';
import type { RouteGateContext } from './routegate-context.ts';
import { wanted } from './routegate-context.ts';
import type { GateFindings } from './routegate-facts.ts';
import { askedText, type GateStatus, warningsOf } from './routegate-status.ts';

type Asked = Standing<RouteGateContext>;

export function tellRouteGate(standing: Asked): Told {
  const { context } = standing;
  const status = context.facts === null ? null : wanted(context);
  if (status === null) return { text: 'nothing is known about the RouteGate yet' };
  return { text: textOf(standing, status), facts: factsOf(status, context.findings) };
}

function textOf(standing: Asked, status: GateStatus): string {
  const { context } = standing;
  const { facts, findings, lastError } = context;
  if (isIn(standing, 'gone')) return 'the RouteGate no longer exists';
  if (isIn(standing, 'waitingForNews'))
    return 'the RouteGate was missing when its status was to be written; Orrery waits to see what happened to it';
  if (isIn(standing, 'backingOff'))
    return `the status could not be written, ${times(context.failures)}: ${lastError ?? 'unknown error'}`;
  if (facts?.invalid != null) return `the spec is not valid: ${facts.invalid}`;
  if (findings === null) return 'the Pods and Services of the RouteGate are being counted';
  if (!findings.isComplete) return status.verifying.message;
  const troubles = warningsOf(status, findings).map(({ message }) => message);
  return [...troubles, podsText(findings, standing.at)].join('; ');
}

function podsText({ pods, first, services, unaskable }: GateFindings, at: number): string {
  const { held, waiting } = pods;
  const asked = askedText(services - unaskable.count);
  if (held === 0) return `no Pod is held; ${asked} once there is one`;
  if (waiting === 0) return `none of ${held} Pods waits; ${asked}`;
  const longest = first === null ? '' : `, ${first.name} for ${age(at - first.since)}`;
  return `${waiting} of ${held} Pods wait for their routes${longest}`;
}

const times = (count: number) => (count === 1 ? 'once' : `${count} times in a row`);

function factsOf({ counts, valid, verifying }: GateStatus, findings: GateFindings | null): Fact[] {
  const { pods, waiting, ready, ungated, verified, unverified, longestWaiting } = counts;
  return [
    { label: 'Valid', value: `${valid.status} (${valid.reason})` },
    { label: 'Verifying', value: `${verifying.status} (${verifying.reason})` },
    { label: 'Pods', value: pods },
    { label: 'Waiting', value: waiting },
    { label: 'Ready', value: ready },
    { label: 'Without readiness gate', value: ungated },
    { label: 'Verified', value: verified },
    { label: 'Not verified', value: unverified },
    { label: 'Services', value: findings?.services ?? 0 },
    ...(longestWaiting === null ? [] : [{ label: 'Waits longest', value: longestWaiting }]),
  ];
}
