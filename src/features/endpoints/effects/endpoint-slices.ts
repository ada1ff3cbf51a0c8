/**
 * Effect `endpoint-slices.reconcile`: one pass over the EndpointSlices of a Service.
 *
 * Reads the desired and the present slices from the scene (the picture, and what this replica has written
 * since), plans (packing/pack.ts) and writes. Running it twice writes nothing the second time (I5): after a
 * finished pass the plan is empty, and the names of new slices follow from the series of the pass. It looks
 * at nothing and writes nothing before the scene is complete (docs/features/endpoints.md §5.5). A slice whose
 * version differs from the known one is read again, and the rest is planned again; only what keeps failing is
 * reported.
 */
import { createHash } from 'node:crypto';
import type { EffectContext, EffectRunner } from '../../../actors/effect-runner.ts';
import { type Clock, sleep } from '../../../base/clock.ts';
import { OrreryError, retryAfterOf } from '../../../base/errors.ts';
import type { KubePort } from '../../../base/kube-port.ts';
import { limits } from '../../../base/limits.ts';
import { isOlderVersion } from '../../../base/resource-version.ts';
import { within } from '../../../kube/api/deadline.ts';
import type { Gathering, SlicesReconcile } from '../../../machines/service/slices-effects.ts';
import type {
  PassEnd,
  SlicesFailed,
  SlicesReconciled,
  SlicesUnlisted,
} from '../../../machines/service/slices-events.ts';
import { wantedSlices } from '../packing/desired.ts';
import type { PlannedWrite } from '../packing/order.ts';
import { pack } from '../packing/pack.ts';
import type { EndpointsScene, ServiceScene, Wave } from '../packing/scene.ts';
import type { StandingSlice, WantedSlices } from '../packing/slices.ts';
import { createSliceReading } from './slice-reading.ts';
import { makeWrites, type NewNames, type WriteResult } from './slice-writes.ts';

export interface SlicesParts {
  readonly kube: KubePort;
  readonly clock: Clock;
  readonly scene: () => EndpointsScene;
  readonly endpointsPerSlice: number;
  /** The other controller whose slices are adopted; null: none. */
  readonly takeOver: string | null;
  /** orrery_endpointslice_writes_total */
  readonly onWrite: (operation: PlannedWrite['operation']) => void;
}

/**
 * After the removal of an endpoint a pass gathers until nothing has changed for this time, ms: an API server
 * tells of hundreds of deletions in clumps.
 */
const waveMs = 30;
/**
 * The same in the middle of a dense wave, ms: a busy API server stalls for that long, and each part of a wave
 * costs a write of every slice. The last flip is still to be written within 0.1 s.
 */
const stallsMs = { flips: 55, removals: 70 };
/** Many changes, close together: fifty flips a second are no dense wave. */
const isDense = ({ changes, everyMs }: Wave) => changes >= 16 && everyMs <= 10;
/** How long Services with many slices gather at most in a burst, ms. */
const widestMs = 2_000;
/** For so long a Service may have twice the slices that it needs, ms; a quiet one has them for 10 s. */
const sparseMs = 60_000;
/** Longest wait for a picture that is being read, ms: as long as others wait to be told of it. */
const wholeMs = 5_000;
/**
 * A plan that waits longer for its requests is looked at again before each further write, ms: a request
 * without an answer takes 25 s, and what the plan removes may be wanted again by then. Shorter, and Services
 * that change all the time would be planned anew without need.
 */
const planMs = 2_000;

/**
 * `again`: something was written, or has to be looked at again; `made` is the token of what the plan was for,
 * `isWritten` says that nothing was in the way.
 */
type Round =
  | { readonly kind: 'settled'; readonly compactable: boolean }
  | { readonly kind: 'again'; readonly made: string; readonly isWritten: boolean }
  | { readonly kind: 'unlisted' }
  | Error;

export function reconcileSlices(parts: SlicesParts): EffectRunner<SlicesReconcile> {
  const reading = createSliceReading(parts);
  return async (effect, context) => {
    const scene = parts.scene();
    let writes = 0;
    const onWrite: SlicesParts['onWrite'] = (operation) => {
      writes += 1;
      parts.onWrite(operation);
    };
    await gather(scene, effect, parts.clock, context.signal);
    if (!(await isComplete(scene, parts.clock, context.signal))) return unlisted(effect);
    const isStillBehind = () => isBehind(scene, effect);
    if (isStillBehind()) await reading.read(effect, isStillBehind, context.signal);
    const editor = editorOf(scene, effect);
    const end = (made?: string): PassEnd => ({ ...endOf(scene, effect, writes, made), ...editor });
    let isWritten = false;
    for (let round = 0; round <= limits.sliceRereads; round += 1) {
      const outcome = await makeRound({ ...parts, onWrite }, scene, effect, context, round);
      if (outcome instanceof Error) return failed(outcome, end());
      if (outcome.kind === 'unlisted') return unlisted(effect);
      if (outcome.kind === 'settled') return reconciled(outcome.compactable, end());
      // Something else is wanted by now. That is for another pass, which gathers first.
      if (end().wanted !== outcome.made) return reconciled(false, end(outcome.made));
      isWritten = outcome.isWritten;
    }
    return failed(unsettled(effect, isWritten), end());
  };
}

/** Who else had written to the slices before the pass. */
function editorOf(scene: EndpointsScene, { namespace, name }: SlicesReconcile): Pick<PassEnd, 'editor'> {
  const edited = scene.read(namespace, name)?.slices.find(({ editor }) => editor !== undefined);
  return edited?.editor === undefined ? {} : { editor: edited.editor };
}

/** @param isWritten the last round was written as planned, and is not what stands there now */
function unsettled({ namespace, name }: SlicesReconcile, isWritten: boolean): OrreryError {
  const slices = `the slices of ${namespace}/${name}`;
  const message = isWritten
    ? `the API server stores other endpoints or ports in ${slices} than it is asked to: look for an admission webhook or policy that changes EndpointSlices`
    : `something else changes ${slices} as fast as they are written`;
  return new OrreryError('KUBE_CONFLICT', message);
}

/**
 * Waits until nothing has changed for a moment; a longer moment where changes do not stop, or where an
 * endpoint was removed.
 */
async function gather(
  scene: EndpointsScene,
  effect: SlicesReconcile,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const begun = clock.monotonic();
  const { burst, ...first } = effect.gather;
  const { namespace, name } = effect;
  const isWave = burst !== undefined && scene.removedAt(namespace, name) + waveMs > begun;
  const wave = { quietMs: waveMs, stallMs: stallsMs.removals, begun };
  if (isWave) return void (await quiet(scene, effect, { ...burst, ...wave }, clock, signal));
  const isOver = await quiet(scene, effect, { ...first, begun }, clock, signal);
  if (!isOver && burst !== undefined) await quiet(scene, effect, { ...burst, begun }, clock, signal);
}

interface Wait {
  /** When the gathering began, monotonic ms. */
  readonly begun: number;
  /** Longer pauses end a dense wave, ms. */
  readonly stallMs?: number;
}

/** @returns false if changes did not stop in time */
async function quiet(
  scene: EndpointsScene,
  { namespace, name }: SlicesReconcile,
  { quietMs, maxMs, perSliceMs = 0, stallMs = stallsMs.flips, begun }: Gathering & Wait,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  const slices = perSliceMs === 0 ? 0 : (scene.read(namespace, name)?.slices.length ?? 0);
  const longestMs = Math.max(maxMs, Math.min(perSliceMs * slices, widestMs));
  for (;;) {
    const now = clock.monotonic();
    const isWave = perSliceMs > 0 && isDense(scene.waveOf(namespace, name));
    const stillMs = isWave ? Math.max(quietMs, stallMs) : quietMs;
    // Quiet time before the step was saved counts.
    const restMs = scene.changedAt(namespace, name) + stillMs - now;
    if (restMs <= 0) return true;
    if (now - begun >= longestMs) return false;
    await sleep(clock, Math.max(1, Math.min(restMs, begun + longestMs - now)), signal);
  }
}

/**
 * Whether Services, workloads and slices are all listed. Waits for a picture that is still being read: where
 * changes come in packets that takes a moment, and a saved step for each would cost far more.
 */
async function isComplete(scene: EndpointsScene, clock: Clock, signal: AbortSignal): Promise<boolean> {
  if (scene.isComplete()) return true;
  const deadline = { clock, ms: wholeMs, what: 'a whole picture of the world', signal };
  await within(deadline, (both) => scene.whole(both)).catch(() => {});
  return scene.isComplete();
}

function unlisted({ pass }: SlicesReconcile): SlicesUnlisted {
  return { type: 'slices.unlisted', pass };
}

/** Whether an earlier pass, of another replica, has written something that is not known here yet. */
function isBehind(scene: EndpointsScene, { namespace, name, version }: SlicesReconcile): boolean {
  if (version === '') return false;
  const known = newestOf(scene.read(namespace, name)?.slices ?? []);
  return known === '' || isOlderVersion(known, version);
}

async function makeRound(
  parts: SlicesParts,
  scene: EndpointsScene,
  effect: SlicesReconcile,
  { key, signal }: EffectContext,
  round: number,
): Promise<Round> {
  if (!(await isComplete(scene, parts.clock, signal))) return { kind: 'unlisted' };
  const { namespace, name, since } = effect;
  const now = scene.read(namespace, name);
  if (now === null) return { kind: 'settled', compactable: false };
  const plans = (compact: boolean) => planOf(effect, now, parts.endpointsPerSlice, compact);
  const least = plans(effect.compact);
  const isLong = scene.sparseFor(namespace, name, least.plan.compactable) >= sparseMs;
  const { wanted, plan } = isLong ? plans(true) : least;
  const trigger = scene.takeTrigger(namespace, name);
  const plannedAt = parts.clock.monotonic();
  if (plan.writes.length === 0) {
    return { kind: 'settled', compactable: plan.compactable };
  }
  const results = await makeWrites(plan.writes, {
    ...parts,
    scene,
    namespace,
    frame: wanted,
    triggeredAt: triggerTime(now, trigger, since),
    names: newNames(plan.writes, now, `${seriesOf(effect, now, key)}/${round}`),
    isOutdated: () =>
      parts.clock.monotonic() - plannedAt > planMs &&
      scene.changedAt(namespace, name) > plannedAt &&
      scene.read(namespace, name)?.wanted !== now.wanted,
    signal,
  });
  // The pass that writes the rest reports the same change.
  const isWritten = results.every((result) => result === 'written');
  if (trigger !== null && !isWritten) scene.giveBackTrigger(namespace, name, trigger);
  return judge(results, now.wanted);
}

function planOf(effect: SlicesReconcile, now: ServiceScene, max: number, compact: boolean) {
  const wanted: WantedSlices = wantedSlices(effect.name, now.service, now.workloads);
  return { wanted, plan: pack(wanted, now.slices, { max, compact }) };
}

function judge(results: readonly WriteResult[], made: string): Round {
  const error = results.find((result) => result instanceof Error);
  if (error !== undefined) return error;
  // In a namespace that is being deleted nothing is left to do.
  if (results.includes('closed')) return { kind: 'settled', compactable: false };
  return { kind: 'again', made, isWritten: results.every((result) => result === 'written') };
}

function reconciled(compactable: boolean, end: PassEnd): SlicesReconciled {
  return { type: 'slices.reconciled', compactable, ...end };
}

function failed(error: Error, end: PassEnd): SlicesFailed {
  const retryAfterMs = retryAfterOf(error) ?? 0;
  return { type: 'slices.failed', pass: end.pass, message: error.message, retryAfterMs, end };
}

/** @param made token of what the slices say; absent: of what is wanted now */
function endOf(
  scene: EndpointsScene,
  { pass, namespace, name }: SlicesReconcile,
  writes: number,
  made?: string,
): PassEnd {
  const now = scene.read(namespace, name);
  const wanted = now?.wanted ?? '';
  return {
    pass,
    made: made ?? wanted,
    wanted,
    standing: now?.standing ?? '',
    empty: (now?.slices.length ?? 0) === 0,
    version: newestOf(now?.slices ?? []),
    writes,
  };
}

/**
 * endpoints.kubernetes.io/last-change-trigger-time, as in Kubernetes' own controller: the earliest transition
 * that has not been written yet; for a Service that is new to us, its creation.
 */
function triggerTime(
  { service, workloads }: ServiceScene,
  trigger: number | null,
  since: number,
): number | null {
  if (since === 0) return service.createdAt;
  if (trigger !== null) return trigger;
  // Transition times are whole seconds.
  const times = workloads.map(({ digest }) => digest.readyAt).filter((at) => at >= since - (since % 1_000));
  return times.length === 0 ? null : Math.min(...times);
}

/** @param key the effect's: 0.1.0 derived names from it, and so does a pass that 0.1.0 requested */
function seriesOf({ namespace, name, series }: SlicesReconcile, now: ServiceScene, key: string): string {
  return series === undefined ? key : `${namespace}/${name}/${now.service.uid}/${series}`;
}

/** They follow from the series, without those that are known to be taken. */
function newNames(writes: readonly PlannedWrite[], { slices }: ServiceScene, series: string): NewNames {
  let number = 0;
  const next = (): string => {
    const suffix = suffixOf(`${series}/${number++}`);
    return slices.some(({ name }) => name.endsWith(`-${suffix}`)) ? next() : suffix;
  };
  const suffixes = new Map<number, string>();
  for (const [at, { operation }] of writes.entries()) if (operation === 'create') suffixes.set(at, next());
  return {
    of: (at) => suffixes.get(at) ?? '',
    pass: (at) => void suffixes.set(at, next()),
  };
}

function newestOf(slices: readonly StandingSlice[]): string {
  return slices.reduce(
    (newest, { resourceVersion }) =>
      newest === '' || isOlderVersion(newest, resourceVersion) ? resourceVersion : newest,
    '',
  );
}

function suffixOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}
