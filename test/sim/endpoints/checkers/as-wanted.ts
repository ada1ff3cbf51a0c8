/**
 * "No endpoint absent that should be there, none that should not, within the bound"
 * (docs/features/endpoints.md §2), also while the run goes on: in quiet times the slices of each Service list
 * what its objects say, unless the Service is stuck, or nearly (§6.2).
 */
import type { CheckerKind } from '../../../../packages/testing/checkers/checker.ts';
import { createQuiet } from '../../../../packages/testing/checkers/quiet-time.ts';
import type { ActorRecord } from '../../../../src/actors/host/records.ts';
import { stateText } from '../../../../src/actors/host/step.ts';
import {
  managedBy,
  managedByLabel,
  serviceNameLabel,
} from '../../../../src/features/endpoints/slice-labels.ts';
import { endpointSlices, services } from '../../../../src/kube/api/resources.ts';
import type { SeenApi } from '../../api/seen-api.ts';
import { createSince } from '../../checkers/since.ts';
import type { ApiStage } from '../../features/feature-world.ts';
import { namespace } from '../endpoint-world.ts';
import { isLasting, listedIn, slicesOf, wantedOf } from '../wanted-endpoints.ts';

/** A pass whose outcome was lost is given up after 45 s. */
const withinMs = 60_000;
/** From so many failures in a row on the pauses take as long (§6.1). */
const failuresMany = 13;

export const asWanted = (stage: ApiStage): CheckerKind => ({
  name: 'slices list what is wanted',
  create(eye) {
    const quiet = createQuiet(eye, stage);
    const since = createSince(eye.now);
    const stuck = new Set<string>();
    return (sighting) => {
      quiet.see(sighting);
      if (sighting.kind === 'saved') note(stuck, sighting.id, sighting.record);
      if (sighting.kind !== 'second') return;
      if (quiet.since() === eye.now()) return void since([]);
      const wrong = [...wrongIn(stage.api)].filter(
        ({ service }) => !stuck.has(`service/${namespace}/${service}`),
      );
      for (const [text, from] of since(wrong.map((one) => one.text))) {
        const lastedMs = eye.now() - from;
        if (lastedMs > withinMs) eye.breach(`for ${Math.round(lastedMs / 1_000)} s ${text}`);
      }
    };
  },
});

function note(stuck: Set<string>, id: string, { gone, snapshot }: ActorRecord): void {
  const { slices } = snapshot.context as { readonly slices?: { readonly failures: number } };
  const isStuck = stateText(snapshot.value).includes('stuck') || (slices?.failures ?? 0) >= failuresMany;
  if (!gone && isStuck) stuck.add(id);
  else stuck.delete(id);
}

function* wrongIn(api: SeenApi): Iterable<{ readonly service: string; readonly text: string }> {
  const all = new Map(api.all(services).map((service) => [service.metadata.name, service]));
  const served = api
    .all(endpointSlices)
    .filter(({ metadata: { labels } }) => labels?.[managedByLabel] === managedBy)
    .map(({ metadata: { labels } }) => labels?.[serviceNameLabel] ?? '');
  for (const service of new Set([...all.keys(), ...served])) {
    const object = all.get(service);
    if (object !== undefined && !isLasting(object)) continue;
    const wanted = new Set(object === undefined ? [] : wantedOf(api, object));
    const listed = new Set(listedIn(slicesOf(api, service)));
    for (const one of listed) if (!wanted.has(one)) yield { service, text: `${service} lists ${one}` };
    for (const one of wanted) if (!listed.has(one)) yield { service, text: `${service} lacks ${one}` };
  }
}
