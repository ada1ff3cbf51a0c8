/**
 * "Every replica answers … for every node", 200 if the proxier is healthy and the node is eligible, else 503
 * (docs/features/proxiers.md §2.2, §3.1, §4.1, §4.2).
 *
 * Judged in quiet times, by what has been so for longer than a report, a digest and an answer take.
 */
import type { CheckerKind } from '../../../../packages/testing/checkers/checker.ts';
import { createQuiet } from '../../../../packages/testing/checkers/quiet-time.ts';
import type { ActorRecord } from '../../../../src/actors/host/records.ts';
import {
  deletedSilenceMs,
  heardEveryMs,
  unknownSilenceMs,
} from '../../../../src/machines/proxier/proxier-context.ts';
import type { ApiStage } from '../../features/feature-world.ts';
import type { Answered, LoadBalancer } from '../load-balancer.ts';
import type { NodeProxy } from '../node-proxy.ts';
import type { ProxierScene } from '../proxier-world.ts';

/** Allowance for a report that is repeated after a failure, and for streams that lag. */
const knownMs = 15_000;
/** A watch that broke again and again while the API server failed is begun anew after at most this long. */
const watchedAgainMs = 30_000;

export const trueAnswers = (stage: ApiStage, scene: ProxierScene, balancer: LoadBalancer): CheckerKind => ({
  name: 'health answers tell how a proxy stands',
  create(eye) {
    const quiet = createQuiet(eye, stage);
    /** Since when this answer is due, by node and endpoint. */
    const since = new Map<string, { readonly status: number; readonly at: number }>();
    const answeredAt = new Map<string, number>();
    let failedAt = Number.NEGATIVE_INFINITY;
    const look = () => {
      for (const { key, status, isSaid } of scene.wanted())
        if (!isSaid || since.get(key)?.status !== status) since.set(key, { status, at: eye.now() });
    };
    const judge = ({ node, endpoint, replica, status, askedAt }: Answered) => {
      const key = `${node} ${endpoint}`;
      answeredAt.set(key, eye.now());
      look();
      const wanted = since.get(key);
      const from = Math.max(wanted?.at ?? 0, quiet.since(), failedAt + watchedAgainMs) + knownMs;
      if (wanted === undefined || askedAt < from || wanted.status === status) return;
      if (status === 404 && !scene.isHeard(node)) return;
      eye.breach(`${replica} answers ${status} to ${endpoint} of ${node}, which is ${wanted.status}`);
    };
    balancer.onAnswer(judge);
    // What was otherwise for a moment is due anew.
    stage.api.onWrite(look);
    return (sighting) => {
      quiet.see(sighting);
      if (stage.kubeErrors > 0) failedAt = eye.now();
      if (sighting.kind === 'saved') noteNode(scene, sighting.id, sighting.record, eye.now());
      if (sighting.kind !== 'second') return;
      look();
      for (const key of since.keys()) {
        const from = Math.max(answeredAt.get(key) ?? 0, quiet.since());
        if (eye.now() - from > 2 * knownMs) eye.breach(`nobody answers for ${key} since ${knownMs / 500} s`);
      }
    };
  },
});

function noteNode(
  { proxies, seen }: ProxierScene,
  id: string,
  { gone, snapshot }: ActorRecord,
  now: number,
): void {
  const node = id.slice('proxier/_/'.length);
  const { node: state } = snapshot.value as { readonly node?: unknown };
  const isSilent = (proxy: NodeProxy) => now - (proxy.heardAt ?? now) >= silenceMs(seen.has(node));
  if (gone) for (const proxy of proxies) if (proxy.node === node && isSilent(proxy)) proxy.isForgotten = true;
  if (gone || state === 'unknown') seen.delete(node);
  else seen.add(node);
}

/** After how long a proxier may end (§3.3); of a Node that was seen, and is not there any more. */
const silenceMs = (wasSeen: boolean) => (wasSeen ? deletedSilenceMs : unknownSilenceMs) - heardEveryMs;
