/** The digest of Elections in the world. */
import type { DigestBase, DigestPart } from '../../base/digests.ts';
import type { KubeObject } from '../../base/kube-port.ts';
import { conditionOf } from '../../kube/api/conditions.ts';
import { list, record } from '../../kube/api/fields.ts';
import { generationOf } from '../../kube/mirror/object-digest.ts';
import { saidIn } from '../../machines/election/election-words.ts';
import { type ElectionSpec, transitionsMax } from '../../machines/election/lease-record.ts';
import { saidNothing } from '../../machines/said.ts';
import { readElectionSpec } from './election-spec.ts';

export interface ElectionDigest extends DigestBase {
  readonly kind: 'elections';
  readonly generation: number;
  readonly spec: ElectionSpec;
  /** What its status says (saidIn); absent: mirrored by an earlier release. */
  readonly said?: string;
  /** The term that it names; absent: none, or mirrored by an earlier release. */
  readonly term?: number;
}

export function electionPart(object: KubeObject): DigestPart<ElectionDigest> {
  const said = saidBy(object.status);
  const spec = readElectionSpec(object);
  return { generation: generationOf(object), spec, said, ...termIn(object.status) };
}

function termIn(status: unknown): Pick<ElectionDigest, 'term'> {
  const term = Number(record(status).term);
  return Number.isInteger(term) && term > 0 && term <= transitionsMax + 1 ? { term } : {};
}

function saidBy(value: unknown): string {
  if (value == null) return saidNothing;
  const { holder, term, transitions, candidates, observedGeneration } = record(value);
  return saidIn({
    holder: typeof holder === 'string' ? holder : null,
    term: Number(term ?? 0),
    transitions: Number(transitions ?? 0),
    candidates: list(candidates).map(String),
    observedGeneration: Number(observedGeneration ?? 0),
    isValid: conditionOf(value, 'Valid')?.status === 'True',
  });
}
