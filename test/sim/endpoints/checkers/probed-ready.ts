/**
 * "The annotation makes Orrery keep the workload's condition `Ready`": whatever the program does, and whoever
 * else writes it (docs/features/endpoints.md §8.1, §8.4, §8.6); and "without the annotation the workload's
 * status is never touched" (§8.5), and no other condition ever.
 */
import type { CheckerKind } from '../../../../packages/testing/checkers/checker.ts';
import { createQuiet } from '../../../../packages/testing/checkers/quiet-time.ts';
import { equal } from '../../../../src/base/equal.ts';
import type { KubeObject } from '../../../../src/base/kube-port.ts';
import { externalWorkloads } from '../../../../src/features/endpoints/resources.ts';
import { readProbe } from '../../../../src/machines/workload/probe-annotation.ts';
import type { SeenStage } from '../../api/seen-api.ts';
import { isReplica } from '../../api/sim-api.ts';
import { createSince } from '../../checkers/since.ts';
import type { ApiStage } from '../../features/feature-world.ts';
import { annotationOf, conditionsOf, type Programs, readyOf } from '../probed-programs.ts';
import { isLasting } from '../wanted-endpoints.ts';

/** A watch that pauses for half a minute, a patch without an answer, a round whose outcome is lost. */
const knownMs = 75_000;

export const probedReady = (stage: ApiStage, programs: Programs): CheckerKind => ({
  name: 'a probed workload is ready as its program answers',
  create(eye) {
    const quiet = createQuiet(eye, stage);
    const since = createSince(eye.now);
    /** By uid: when a replica wrote it last; somebody may have taken that back at once. */
    const written = new Map<string, number>();
    stage.api.onWrite(({ resource, before, after, by }) => {
      if (resource.plural !== externalWorkloads.plural || before === null || !isReplica(by)) return;
      const { name, uid } = before.metadata;
      written.set(uid ?? name, eye.now());
      if (after === null || annotationOf(before) === null)
        return eye.breach(`${by} writes ${name}, which does not ask to be probed`);
      const others = (object: KubeObject) =>
        conditionsOf(object.status).filter(({ type }) => type !== 'Ready');
      if (!equal(others(before), others(after))) eye.breach(`${by} changes other conditions of ${name}`);
    });
    return (sighting) => {
      quiet.see(sighting);
      if (sighting.kind !== 'second') return;
      const all = stage.api.all(externalWorkloads).flatMap((one) => wrongIn(programs, one));
      const wrong = new Map(all.map((one) => [one.text, one]));
      for (const [text, from] of since(wrong.keys())) {
        const { uid = '', mostMs = 0 } = wrong.get(text) ?? {};
        const lastedMs = eye.now() - Math.max(from, quiet.since(), written.get(uid) ?? 0);
        if (lastedMs > mostMs) eye.breach(`for ${Math.round(lastedMs / 1_000)} s ${text}`);
      }
    };
  },
});

/** After the last fault each says what its program does. */
export const unsettledProbes = ({ api }: SeenStage, programs: Programs): readonly string[] =>
  api.all(externalWorkloads).flatMap((one) => wrongIn(programs, one).map(({ text }) => text));

interface Wrong {
  readonly text: string;
  readonly uid: string;
  /** How long it may last, ms. */
  readonly mostMs: number;
}

/** What is wrong with a workload at this moment. */
function wrongIn(programs: Programs, workload: KubeObject): readonly Wrong[] {
  const annotation = annotationOf(workload);
  const plan = annotation === null ? null : readProbe(annotation);
  const ips = (workload.spec as { workloadIPs: ReadonlyArray<{ ip: string }> }).workloadIPs.map(
    ({ ip }) => ip,
  );
  // Such an address is published by nobody and called by nobody.
  const isUsable = ips.length > 0 && ips.every((ip) => !ip.startsWith('127.'));
  if (plan === null || 'invalid' in plan || !isUsable || !isLasting(workload)) return [];
  const wanted = ips.every((ip) => programs.answers(ip)) ? 'True' : 'False';
  const said = readyOf(workload);
  if (said === wanted) return [];
  const { name, uid } = workload.metadata;
  const { periodMs, probe, failures, successes } = plan;
  const rounds = (wanted === 'True' ? successes : failures) + 2;
  const text = `${name} (${uid}, ${annotation}, ${ips.join()}) is ${said}, its program says ${wanted}`;
  return [{ text, uid: uid ?? name, mostMs: rounds * (1.05 * periodMs + probe.timeoutMs) + knownMs }];
}
