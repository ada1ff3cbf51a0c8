/**
 * "`Ready` is False from `notAfter` on, in every state" and statuses are "true within seconds"
 * (docs/features/certificates.md §9.1, §9.2): after the last fault, no Domain with an expired certificate
 * says Ready for longer than a moment.
 */
import type { CheckerKind } from '../../../../packages/testing/checkers/checker.ts';
import { domains } from '../../../../src/features/certificates/resources.ts';
import type { SeenStage } from '../../api/seen-api.ts';

/** Time for retries of what failed last, and for the reports. */
const graceMs = 45_000;

interface Status {
  readonly notAfter?: string | null;
  readonly conditions?: ReadonlyArray<{ readonly type: string; readonly status: string }>;
}

export const neverReadyExpired = ({ api }: SeenStage): CheckerKind => ({
  name: 'never Ready on an expired certificate',
  create(eye) {
    let calmAt: number | null = null;
    return (sighting) => {
      if (sighting.kind === 'calm') calmAt = eye.now();
      if (sighting.kind !== 'second' || calmAt === null) return;
      for (const { metadata, status } of api.all(domains)) {
        const { notAfter, conditions } = (status ?? {}) as Status;
        const isReady = conditions?.some(({ type, status: said }) => type === 'Ready' && said === 'True');
        if (!isReady || notAfter == null) continue;
        const overMs = eye.now() - Math.max(Date.parse(notAfter), calmAt);
        if (overMs > graceMs)
          eye.breach(
            `${metadata.namespace}/${metadata.name} is Ready, and its certificate ended at ${notAfter}`,
          );
      }
    };
  },
});
