/** The digest of Elections in the world. */
import type { DigestBase, DigestPart } from '../../base/digests.ts';
import type { KubeObject } from '../../base/kube-port.ts';
import { generationOf } from '../../kube/mirror/object-digest.ts';
import type { ElectionSpec } from '../../machines/election/lease-record.ts';
import { readElectionSpec } from './election-spec.ts';

export interface ElectionDigest extends DigestBase {
  readonly kind: 'elections';
  readonly generation: number;
  readonly spec: ElectionSpec;
}

export function electionPart(object: KubeObject): DigestPart<ElectionDigest> {
  return { generation: generationOf(object), spec: readElectionSpec(object) };
}
