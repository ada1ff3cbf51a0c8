/**
 * Seeds of replicas of three releases that come, end, die, are cut off, and lose their leadership to nobody's
 * advantage. Whatever happens: objects are only applied under a status that suits them, never within the 5 s
 * of a former leader, and by the leader alone; and when it is quiet the newest that live have written Done,
 * and exactly those serve that it suits.
 */
import { expect, test } from 'vitest';
import { ledShard } from '../../../src/base/limits.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { decode } from '../../../src/bus/codec.ts';
import {
  type BundleFacts,
  isOlder,
  newerOf,
  type ReleaseStatus,
} from '../../../src/machines/release/release-table.ts';
import { broken, bundle, clean } from '../../machines/release/release-script.ts';
import { ReleaseScene, type Round, type SceneReplica } from './release-scene.ts';

/** 0.2.0 suits 0.1.0; 0.3.0 suits nobody before it, and needs 0.2.0's state at least. */
const bundles = [bundle('0.1.0'), bundle('0.2.0', '0.1.0'), bundle('0.3.0', '0.3.0', '0.2.0')];
const formerMs = 5_000;

interface Living {
  readonly replica: SceneReplica;
  readonly bundle: BundleFacts;
  isCut: boolean;
}

/** What a round breaks, in words. */
function brokenBy(scene: ReleaseScene, claims: ReadonlyMap<number, Claim>, round: Round): string[] {
  const found: string[] = [];
  const claim = claims.get(round.fence);
  if (claim === undefined) return ['a round without a claim'];
  const later = [...claims].find(([fence]) => fence > round.fence)?.[1];
  if (later !== undefined && round.at - later.at >= formerMs)
    found.push('a round long after the leadership moved');
  if (claim.hadStatus && round.at - claim.at < formerMs)
    found.push('a round within the 5 s of a former leader');
  const status = later === undefined ? scene.statuses.at(-1) : undefined;
  const local = bundles.find(({ release }) => release === round.release);
  if (status === undefined || local === undefined) return found;
  if (isOlder(local.release, status.release)) found.push(`written for ${status.release}, which is newer`);
  if (isOlder(status.minimumCompatible, local.minServing)) found.push('replicas that it hurts may serve');
  return found;
}

interface Claim {
  readonly at: number;
  readonly hadStatus: boolean;
}

function watchClaims(scene: ReleaseScene): ReadonlyMap<number, Claim> {
  const claims = new Map<number, Claim>();
  scene.hub.observe((stream, { subject, sequence }) => {
    if (stream !== 'state' || subject !== scene.subjects.fence(ledShard)) return;
    claims.set(sequence, { at: scene.clock.now(), hadStatus: scene.statuses.length > 0 });
  });
  return claims;
}

async function play(seed: number): Promise<string[]> {
  const scene = new ReleaseScene();
  const random = seededRandom(seed);
  const among = (count: number) => Math.floor(random.next() * count);
  const claims = watchClaims(scene);
  const found: string[] = [];
  watchStatuses(scene, (text) => found.push(text));
  const living: Living[] = [];
  let isQuiet = false;
  scene.summary = (round) => {
    for (const text of brokenBy(scene, claims, round))
      found.push(`${text}: ${round.replica} ${round.release} at ${round.at}`);
    return !isQuiet && random.next() < 0.2 ? broken : clean;
  };
  let names = 0;
  const come = async () => {
    const facts = bundles[among(bundles.length)] ?? bundle('0.1.0');
    const replica = await scene.replica(`r${++names}`, facts);
    living.push({ replica, bundle: facts, isCut: false });
  };
  await come();
  for (let step = 0; step < 25; step++) {
    const one = living[among(living.length)];
    const what = random.next();
    if (what < 0.3 && living.length < 5) await come();
    else if (what < 0.4 && one && living.length > 1) {
      living.splice(living.indexOf(one), 1);
      await one.replica.stop();
    } else if (what < 0.5 && one && living.length > 1) {
      living.splice(living.indexOf(one), 1);
      one.replica.kill();
    } else if (what < 0.7 && one) {
      one.isCut = !one.isCut;
      one.replica.bus.faults.setLink(one.isCut ? 'down' : 'up');
    } else if (what < 0.8) await scene.usurp();
    await scene.clock.advance(among(6_000));
  }
  isQuiet = true;
  for (const { replica } of living) replica.bus.faults.setLink('up');
  await scene.clock.advance(120_000);
  return [...found, ...unsettled(scene, living)];
}

/** A status that hurts a node which stands beside it at that very moment. */
function watchStatuses(scene: ReleaseScene, onBroken: (text: string) => void): void {
  let before: ReleaseStatus | null = null;
  scene.hub.observe((stream, { subject, data }) => {
    if (stream !== 'state' || subject !== scene.subjects.releaseStatus('platform')) return;
    const status = decode(data) as ReleaseStatus;
    for (const { replica, release } of before === null ? [] : scene.storedNodes()) {
      const isShutOut = isOlder(release, status.minimumCompatible);
      if (isShutOut && isOlder(before?.minimumCompatible ?? '', status.minimumCompatible))
        onBroken(`${replica} ${release} is shut out by ${status.minimumCompatible}`);
      if (isOlder(status.release, before?.release ?? '') && isOlder(status.release, release))
        onBroken(`${replica} ${release} has its state taken back to ${status.release}`);
    }
    before = status;
  });
}

/** What is not as it should be when nothing has happened for long. */
function unsettled(scene: ReleaseScene, living: readonly Living[]): string[] {
  const found: string[] = [];
  const newest = living.map(({ bundle }) => bundle.release).reduce(newerOf);
  const status = scene.statuses.at(-1);
  const of = bundles.find(({ release }) => release === newest);
  // An older one that still lives keeps the newest from writing what would hurt it, if it came too late to be
  // shut out.
  const isHindered = living.some(({ bundle }) => of !== undefined && isOlder(bundle.release, of.minServing));
  const isDone = status?.state === 'Done' && status.release === newest;
  if (!isDone && !isHindered) found.push(`not done with ${newest}: ${JSON.stringify(status)}`);
  const leader = living.find(({ replica }) => replica.name === scene.leader());
  if (leader?.bundle.release !== newest) found.push(`led by ${leader?.bundle.release}, not ${newest}`);
  for (const { replica, bundle } of living) {
    const suits =
      status !== undefined &&
      !isOlder(bundle.release, status.minimumCompatible) &&
      !isOlder(status.release, bundle.minReconciler);
    if ((replica.desk.blocked === null) !== suits)
      found.push(
        `${replica.name} ${bundle.release}: ${replica.desk.blocked ?? 'serves'} with ${JSON.stringify(status)}`,
      );
    if (!suits && scene.owners().includes(replica.name))
      found.push(`${replica.name} owns shards all the same`);
  }
  return found;
}

test.each(Array.from({ length: 12 }, (_, seed) => seed + 1))('seed %i', async (seed) => {
  expect(await play(seed)).toEqual([]);
});
