/** The list of built-in features. A new one is one more line here. */
import type { Feature } from '../actors/feature.ts';
import { certificates } from '../features/certificates/feature.ts';
import { elections } from '../features/elections/feature.ts';
import { endpoints } from '../features/endpoints/feature.ts';
import { proxiers } from '../features/proxiers/feature.ts';
import { releases } from '../features/releases/feature.ts';
import { routes } from '../features/routes/feature.ts';
import type { FeatureName } from './feature-names.ts';
import type { FeatureSettings } from './feature-settings.ts';

/**
 * @param settings of a replica; absent: the features' defaults, for programs that run none
 * @param without features that do not run
 */
export function featuresOf(
  settings: FeatureSettings = {},
  without: readonly FeatureName[] = [],
): readonly Feature[] {
  const all = [
    routes(settings.routes),
    endpoints(settings.endpoints),
    certificates(settings.certificates),
    elections(settings.elections),
    releases(settings.releases),
    proxiers(settings.proxiers),
  ];
  return all.filter(({ name }) => !without.some((one) => one === name));
}
