/**
 * The names of the features, for whoever reads flags: without loading what a feature is.
 */

/** As `--without` has them: the features of this program by name. */
export const featureNames = [
  'routes',
  'endpoints',
  'certificates',
  'elections',
  'releases',
  'proxiers',
] as const;
export type FeatureName = (typeof featureNames)[number];
