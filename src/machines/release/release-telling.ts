/**
 * What people are told about a release: the Release resource with its conditions, Events, log lines, and the
 * lines of `orrery explain`. Pure.
 */
import { equal } from '../../base/equal.ts';
import {
  type Args,
  type ChangingRound,
  contestedMin,
  errorOf,
  hindrances,
  type ReleaseContext,
  type ReleaseInput,
  withRoster,
} from './release-context.ts';
import {
  type ReleaseChange,
  type ReleaseCondition,
  type ReleaseReport,
  type ReleaseResourceWrite,
  retiredReason,
} from './release-effects.ts';
import {
  contestedText,
  failsText,
  replicaText,
  retiredText,
  standsText,
  waitsText,
  worksText,
} from './release-reason.ts';
import { rowOf, unsuitedFor } from './release-table.ts';

/** With an Event for the round that made the state Done, not for later ones, and about contested objects. */
export function rested(args: Args) {
  return resource(args, restedNote(args));
}

function restedNote({ context, event }: Args): ReleaseResourceWrite['note'] {
  if (event.type === 'status.written')
    return { eventType: 'Normal', reason: 'ReleaseApplied', text: standsText(context) };
  const contested = Object.entries(context.contested ?? {}).filter(([, times]) => times === contestedMin);
  if (event.type !== 'round.finished' || contested.length === 0) return null;
  const text = contestedText(
    context,
    contested.map(([object]) => object),
  );
  return { eventType: 'Warning', reason: 'ReleaseContested', text };
}

/** Nobody will write the Release again, so its content must stay true. */
export function retired({ context, event }: Args): Omit<ReleaseResourceWrite, 'type'> {
  const message = `${retiredText(context)}; its objects are left as they are`;
  const told = resource({ context: { ...context, leader: '', waitingFor: [], nodes: [] }, event });
  const [, ...others] = told.conditions;
  const applied = { type: 'Applied', status: 'False', reason: retiredReason, message } as const;
  return { ...told, conditions: [applied, ...others] };
}

/** An Event for each new reason to wait. */
export function blocked({ context, event }: Args) {
  const waitingFor = hindrances(context);
  const isNews = waitingFor.join() !== context.waitingFor.join();
  const text = waitsText(context, waitingFor);
  return resource(
    { context: { ...context, waitingFor }, event },
    isNews ? { eventType: 'Warning', reason: 'ReleaseBlocked', text } : null,
  );
}

export function failing(
  args: { readonly context: ReleaseContext; readonly event: unknown },
  level: 'warn' | 'error',
) {
  const message = 'a round of reconciliation failed';
  return report(args.context, level, message, errorOf(args.event as ReleaseInput));
}

export function report(
  { name }: ReleaseContext,
  level: ReleaseReport['level'],
  message: string,
  error: string,
): Omit<ReleaseReport, 'type'> {
  return { bundle: name, level, message, error };
}

export function resource(
  { context, event }: { readonly context: ReleaseContext; readonly event: ReleaseInput },
  note: ReleaseResourceWrite['note'] = null,
): Omit<ReleaseResourceWrite, 'type'> {
  const { name, seen, leader, waitingFor, lastApplied, lastError } = context;
  const { status } = seen;
  return {
    bundle: name,
    status: {
      state: status?.state ?? null,
      release: status?.release ?? null,
      minimumCompatibleRelease: status?.minimumCompatible ?? null,
      leader,
      waitingFor: waitingFor.length === 0 ? null : waitingFor.join('; '),
      lastApplied,
      lastError,
      changes: context.changes.toReversed().map(named),
    },
    conditions: conditions(context),
    note,
    at: event.at,
  };
}

const named = ({ at, release, made, changed, pruned, more }: ChangingRound): ReleaseChange => ({
  at,
  release,
  applied: made,
  changed: changed.map(({ object }) => object),
  pruned,
  more,
});

function conditions(context: ReleaseContext): ReleaseResourceWrite['conditions'] {
  const { seen, bundle, lastError, lastRound } = context;
  const isApplied = lastError === null && lastRound !== null && rowOf(seen.status, bundle) === 'done';
  return [
    { type: 'Applied', status: isApplied ? 'True' : 'False', ...appliedReason(context, isApplied) },
    ...replicaConditions(context),
  ];
}

function replicaConditions(context: ReleaseContext): readonly ReleaseCondition[] {
  const blocked = blockedReplicas(context);
  return [
    {
      type: 'AllReplicasServe',
      status: blocked.length === 0 ? 'True' : 'False',
      reason: blocked.length === 0 ? 'Suited' : 'Blocked',
      message: blocked.length === 0 ? 'every replica can serve with the recorded state' : blocked.join('; '),
    },
    bundleCondition(context),
  ];
}

/** Another replica must not serve, or has no bundle, than people have been told. */
export function isToldOtherwise({ context, event }: Args): boolean {
  if (event.type !== 'release.observed') return false;
  const after = { ...context, ...withRoster(context, event) };
  return !equal(replicaConditions(context), replicaConditions(after));
}

function appliedReason(context: ReleaseContext, isApplied: boolean) {
  const { waitingFor, lastError } = context;
  if (isApplied) return { reason: 'Done', message: standsText(context) };
  if (waitingFor.length > 0) return { reason: 'Waiting', message: waitsText(context, waitingFor) };
  if (lastError !== null) return { reason: 'Failing', message: failsText(context) };
  return { reason: 'Working', message: worksText(context) };
}

/**
 * A replica without a bundle serves any written state and never leads; usually a flag was forgotten (§1.4).
 */
function bundleCondition({ nodes }: ReleaseContext): ReleaseCondition {
  const without = nodes.filter(({ bundle }) => bundle === null).map(({ replica }) => replica);
  const isAlike = without.length === 0;
  return {
    type: 'AllReplicasHaveBundle',
    status: isAlike ? 'True' : 'False',
    reason: isAlike ? 'Alike' : 'WithoutBundle',
    message: isAlike ? 'every replica runs with a bundle' : `without --bundle: ${without.join(', ')}`,
  };
}

/** Replicas that must not serve with the written state, and why. */
function blockedReplicas({ nodes, seen, name }: ReleaseContext): readonly string[] {
  return nodes.flatMap((node) => {
    if (node.bundle !== null && node.bundle.name !== name) return [];
    const reason = unsuitedFor(seen, node);
    return reason === null ? [] : [`${node.replica}: ${reason}`];
  });
}

/** The lines of `orrery explain` about a release, beside its state. */
export function explainRelease(context: unknown): readonly string[] {
  const release = context as ReleaseContext;
  const { bundle, seen, nodes, leader, waitingFor, lastRound, drift } = release;
  const { status, unreadable } = seen;
  const written =
    status === null
      ? (unreadable ?? 'nothing yet')
      : `${status.state}, release ${status.release}, minimum compatible ${status.minimumCompatible}`;
  return [
    `bundle ${bundle.name}: release ${bundle.release}, minServingRelease ${bundle.minServing}, minReconcilerRelease ${bundle.minReconciler}, ${bundle.objects} objects`,
    `written: ${written}`,
    `replicas: ${nodes.map((node) => replicaText(node, nodes, leader)).join(', ')}`,
    ...waitingFor.map((text) => `waits: ${text}`),
    ...blockedReplicas(release).map((text) => `must not serve: ${text}`),
    ...(lastRound === null
      ? []
      : [
          `last round: ${lastRound.applied} applied, ${lastRound.pruned} pruned, ${lastRound.replaced} replaced, ${lastRound.failed} failed`,
        ]),
    ...(lastRound?.left ?? []).map(
      (object) => `left alone: ${object} has the label of this bundle, but Orrery did not apply it`,
    ),
    ...(drift.length === 0 ? [] : [`drifted: ${drift.join(', ')}`]),
    ...release.changes.toReversed().flatMap(explainChanges),
  ];
}

/** What one round changed, field by field (§6). */
function explainChanges({
  at,
  release,
  leader,
  made,
  changed,
  pruned,
  more,
}: ChangingRound): readonly string[] {
  return [
    `changed at ${new Date(at).toISOString()} by ${leader}, release ${release}: ${made.length} created, ${changed.length} changed, ${pruned.length} deleted${more === 0 ? '' : `, and ${more} more`}`,
    ...made.map((object) => `  made ${object}`),
    ...changed.flatMap(({ object, fields }) => [
      `  changed ${object}`,
      ...fields.map(({ path, from, to }) => `    ${path}: ${from ?? 'nothing'} → ${to ?? 'nothing'}`),
    ]),
    ...pruned.map((object) => `  deleted ${object}`),
  ];
}
