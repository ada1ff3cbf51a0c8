/**
 * The table of Pods. STATUS summarizes phase, reasons and containers, because one word has to say what is
 * going on.
 */
import { type JsonObject, listAt, numberAt, objectAt, objectsAt, textAt } from '../json.ts';
import { age } from './ages.ts';
import { ageColumn, ageOf, column, type KindTable, nameColumn, nameOf, orNone, wide } from './column.ts';

export const podTable: KindTable = {
  columns: [
    nameColumn,
    column('Ready', 'Containers that are ready, of all.'),
    column('Status', 'What the Pod is doing.'),
    column('Restarts', 'Times that containers were started again, and when the last time was.'),
    ageColumn,
    wide('IP', 'Address of the Pod.'),
    wide('Node', 'Node that runs the Pod.'),
    wide('Nominated Node', 'Node that the Pod may get once others have left it.'),
    wide('Readiness Gates', 'Readiness gates that are true, of all.'),
  ],
  cells: (pod, nowMs) => {
    const summary = summaryOf(pod);
    return [
      nameOf(pod),
      `${summary.ready}/${summary.total}`,
      summary.status,
      restartsText(summary, nowMs),
      ageOf(pod, nowMs),
      orNone(textAt(listAt(pod, 'status', 'podIPs')[0], 'ip')),
      orNone(textAt(pod, 'spec', 'nodeName')),
      orNone(textAt(pod, 'status', 'nominatedNodeName')),
      gatesText(pod),
    ];
  },
  conditions: (pod) => {
    const phase = textAt(pod, 'status', 'phase');
    if (phase === 'Succeeded') return [completed(phase, 'The pod has completed successfully.')];
    return phase === 'Failed' ? [completed(phase, 'The pod failed.')] : [];
  },
};

function completed(reason: string, message: string): JsonObject {
  return { type: 'Completed', status: 'True', reason, message };
}

interface Tally {
  readonly ready: number;
  readonly restarts: number;
  /** RFC 3339; empty: never. */
  readonly lastRestart: string;
  /** undefined: the containers add nothing to what is known. */
  readonly reason: string | undefined;
}

interface Summary {
  readonly ready: number;
  readonly total: number;
  readonly status: string;
  readonly restarts: number;
  readonly lastRestart: string;
}

function summaryOf(pod: JsonObject): Summary {
  const sidecars = new Set(
    objectsAt(pod, 'spec', 'initContainers')
      .filter(isSidecar)
      .map((container) => textAt(container, 'name')),
  );
  const init = initTally(pod, sidecars);
  const isInitialized = init.reason === undefined || hasCondition(pod, 'Initialized');
  const main = isInitialized ? mainTally(pod, init.reason ?? phaseReason(pod)) : undefined;
  const ofSidecars = sum(
    objectsAt(pod, 'status', 'initContainerStatuses').filter((one) => sidecars.has(textAt(one, 'name'))),
  );
  const before = main === undefined ? init : ofSidecars;
  return {
    ready: init.ready + (main?.ready ?? 0),
    total: objectsAt(pod, 'spec', 'containers').length + sidecars.size,
    status: statusText(pod, main?.reason ?? init.reason ?? phaseReason(pod)),
    restarts: before.restarts + (main?.restarts ?? 0),
    lastRestart: [before.lastRestart, main?.lastRestart ?? ''].sort().at(-1) ?? '',
  };
}

function isSidecar(container: JsonObject): boolean {
  return container.restartPolicy === 'Always';
}

function phaseReason(pod: JsonObject): string {
  const isGated = objectsAt(pod, 'status', 'conditions').some(
    (condition) => condition.type === 'PodScheduled' && condition.reason === 'SchedulingGated',
  );
  if (isGated) return 'SchedulingGated';
  return textAt(pod, 'status', 'reason') || textAt(pod, 'status', 'phase');
}

/** Counts up to the first init container that has not finished. */
function initTally(pod: JsonObject, sidecars: ReadonlySet<string>): Tally {
  const statuses = objectsAt(pod, 'status', 'initContainerStatuses');
  const total = objectsAt(pod, 'spec', 'initContainers').length;
  let ready = 0;
  for (const [index, status] of statuses.entries()) {
    const isStarted = sidecars.has(textAt(status, 'name')) && status.started === true;
    if (isStarted && status.ready === true) ready += 1;
    if (isStarted || numberAt(status, 'state', 'terminated', 'exitCode') === 0) continue;
    const reason = initReason(status) ?? `Init:${index}/${total}`;
    return { ...sum(statuses.slice(0, index + 1)), ready, reason };
  }
  return { ...sum(statuses), ready, reason: undefined };
}

function initReason(status: JsonObject): string | undefined {
  const waiting = textAt(status, 'state', 'waiting', 'reason');
  const terminated = objectAt(status, 'state', 'terminated');
  if (terminated !== undefined) return `Init:${endReason(terminated)}`;
  return waiting !== '' && waiting !== 'PodInitializing' ? `Init:${waiting}` : undefined;
}

function mainTally(pod: JsonObject, phase: string): Tally {
  const statuses = objectsAt(pod, 'status', 'containerStatuses');
  let reason = phase;
  let failure = '';
  let ready = 0;
  for (const status of statuses.toReversed()) {
    const terminated = objectAt(status, 'state', 'terminated');
    const waiting = textAt(status, 'state', 'waiting', 'reason');
    if (waiting !== '') reason = waiting;
    else if (terminated !== undefined) {
      reason = endReason(terminated);
      if (terminated.exitCode !== 0) failure = reason;
    } else if (status.ready === true && objectAt(status, 'state', 'running') !== undefined) ready += 1;
  }
  if (reason === 'Completed') {
    if (ready > 0 && hasCondition(pod, 'Ready')) reason = 'Running';
    else if (failure !== '') reason = failure;
    else if (ready > 0) reason = 'NotReady';
  }
  return { ...sum(statuses), ready, reason };
}

function endReason(terminated: JsonObject): string {
  const signal = numberAt(terminated, 'signal') ?? 0;
  if (textAt(terminated, 'reason') !== '') return textAt(terminated, 'reason');
  return signal === 0 ? `ExitCode:${numberAt(terminated, 'exitCode') ?? 0}` : `Signal:${signal}`;
}

function statusText(pod: JsonObject, reason: string): string {
  const isDeleted = textAt(pod, 'metadata', 'deletionTimestamp') !== '';
  const hasEnded = ['Succeeded', 'Failed'].includes(textAt(pod, 'status', 'phase'));
  if (isDeleted && textAt(pod, 'status', 'reason') === 'NodeLost') return 'Unknown';
  return isDeleted && !hasEnded ? 'Terminating' : reason;
}

function sum(statuses: readonly JsonObject[]): Pick<Tally, 'restarts' | 'lastRestart'> {
  const ends = statuses.map((status) => textAt(status, 'lastState', 'terminated', 'finishedAt'));
  return {
    restarts: statuses.reduce((count, status) => count + (numberAt(status, 'restartCount') ?? 0), 0),
    lastRestart: ends.sort().at(-1) ?? '',
  };
}

function restartsText({ restarts, lastRestart }: Summary, nowMs: number): string {
  return restarts === 0 || lastRestart === ''
    ? `${restarts}`
    : `${restarts} (${age(lastRestart, nowMs)} ago)`;
}

function gatesText(pod: JsonObject): string {
  const gates = objectsAt(pod, 'spec', 'readinessGates');
  if (gates.length === 0) return '<none>';
  const open = gates.filter((gate) => hasCondition(pod, textAt(gate, 'conditionType')));
  return `${open.length}/${gates.length}`;
}

function hasCondition(pod: JsonObject, type: string): boolean {
  const found = objectsAt(pod, 'status', 'conditions').find((condition) => condition.type === type);
  return found?.status === 'True';
}
