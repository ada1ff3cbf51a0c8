/**
 * "What is reported about an earlier generation of a Domain or an Issuer is never written over the status of
 * a later one" (docs/features/certificates.md §9.6): no replica writes a status about a specification that
 * the object no longer has.
 */
import type { CheckerKind } from '../../../../packages/testing/checkers/checker.ts';
import { equal } from '../../../../src/base/equal.ts';
import { domains, issuers } from '../../../../src/features/certificates/resources.ts';
import type { SeenStage } from '../../api/seen-api.ts';
import { isReplica } from '../../api/sim-api.ts';

const reported: readonly string[] = [domains.plural, issuers.plural];

export const ofItsGeneration = ({ api }: SeenStage): CheckerKind => ({
  name: 'a status is about the specification that is there',
  create({ breach }) {
    api.onWrite(({ resource, before, after, by }) => {
      if (!reported.includes(resource.plural) || after === null || !isReplica(by)) return;
      const { status, metadata } = after;
      if (equal(status, before?.status)) return;
      const { observedGeneration = 0 } = (status ?? {}) as { readonly observedGeneration?: number };
      const { name, generation = 0 } = metadata;
      if (observedGeneration < generation)
        breach(
          `${by} writes of generation ${observedGeneration} of ${name}, whose specification is ${generation}`,
        );
    });
    return () => {};
  },
});
