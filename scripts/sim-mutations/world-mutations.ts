/**
 * Ways to break and to starve the features behind the simulated worlds of RouteGates, proxiers and a user's
 * feature.
 */
import { type Mutation, one } from './mutation.ts';

const starving: readonly Mutation[] = [
  one(
    'elections',
    'of what comes while an actor works nothing is taken afterwards',
    'src/actors/host/host.ts',
    "for (let isFirst = true; shard.phase === 'active' && hot.parkedUntil === 0; isFirst = false) {",
    "for (let isFirst = true; isFirst && shard.phase === 'active' && hot.parkedUntil === 0; isFirst = false) {",
  ),
];

const living: readonly Mutation[] = [
  one(
    'elections',
    'an Election that cannot be used counts as gone',
    'src/features/elections/election-join.ts',
    "return { type: 'election.observed', facts: deleting ? null : facts };",
    "return { type: 'election.observed', facts: deleting || facts.invalid !== null ? null : facts };",
  ),
  one(
    'routegates',
    'what a former actor had begun is told to the one that begins anew',
    'src/actors/host/host.ts',
    'if (record !== null && isForFormer(record, item)) return this.#ignore(cell, hot, item);',
    '',
  ),
];

const gates: readonly Mutation[] = [
  one(
    'routegates',
    'Pods that change stir no RouteGate',
    'src/features/routes/gate-join.ts',
    'return kindsThatTell.includes(kind) ? stirrings.stir(namespace) : [];',
    'return [];',
  ),
  one(
    'routegates',
    'a Pod that was let go without a proof counts as verified',
    'src/features/routes/gate-look.ts',
    "verified: reasons.filter((reason) => reason === 'RoutesVerified').length,",
    'verified: held.length - waiting.length,',
  ),
  one(
    'routegates',
    'a status of a RouteGate that could not be written stays',
    'src/machines/routegate/routegate.ts',
    "after: { backOff: 'deciding' },",
    'after: {},',
  ),
  one(
    'routegates',
    'what somebody wrote over the status of a RouteGate is not noticed',
    'src/machines/routegate/routegate-context.ts',
    'moment.context.reported !== null && isSaidOtherwise(moment, [moment.context.reported]);',
    'false && isSaidOtherwise(moment, []);',
  ),
  one(
    'routegates',
    'Pods without the readiness gate are not counted',
    'src/features/routes/gate-look.ts',
    'const ungated = selected.filter((pod) => !isHeld(spec, pod)).length;',
    'const ungated = 0;',
  ),
  one(
    'routegates',
    'of two RouteGates with different condition types one holds nobody',
    'src/features/routes/groups/groups.ts',
    '!isSelecting(gate, labels)) return [];\n    types.add(conditionType);',
    '!isSelecting(gate, labels) || types.size > 0) return [];\n    types.add(conditionType);',
  ),
];

const proxiers: readonly Mutation[] = [
  one(
    'proxiers',
    'a change that waits is never late',
    'src/machines/proxier/health-family.ts',
    'return pendingSince !== null && lastUpdated !== null && now - pendingSince >= timeoutMs;',
    'return pendingSince !== null && lastUpdated === null && now - pendingSince >= timeoutMs;',
  ),
  one(
    'proxiers',
    'a Node that is about to be deleted gets new traffic',
    'src/features/proxiers/node-digest.ts',
    'return { toBeDeleted: taints.some(({ key }) => key === deletionTaint) };',
    'return { toBeDeleted: taints.length < 0 };',
  ),
  one(
    'proxiers',
    'a Node that was deleted gets new traffic',
    'src/features/proxiers/node-digest.ts',
    "if (node === null) return 'absent';",
    "if (node === null) return 'eligible';",
  ),
  one(
    'proxiers',
    'a report that was not taken is not said again',
    'src/features/proxiers/proxier-reporter.ts',
    'const pause = backOffMs(',
    'taken = report.seq;\n      const pause = backOffMs(',
  ),
  one(
    'proxiers',
    'of two families one is looked at',
    'src/features/proxiers/health-body.ts',
    'return Object.keys(families).filter(',
    'return Object.keys(families).slice(0, 1).filter(',
  ),
];

const own: readonly Mutation[] = [
  one(
    'node-drain',
    'a Node counts as empty while a Pod is left',
    'examples/node-drain/feature.ts',
    'isEmpty: ({ context }) => context.facts?.pods.length === 0,',
    'isEmpty: ({ context }) => (context.facts?.pods.length ?? 0) <= 1,',
  ),
  one(
    'node-drain',
    'a drain that failed is not tried again',
    'examples/node-drain/feature.ts',
    "after: { backOff: [{ guard: 'isUnwanted', target: 'uncordoning' }, { target: 'cordoning' }] },",
    '',
  ),
];

export const worldMutations: readonly Mutation[] = [...starving, ...living, ...gates, ...proxiers, ...own];
