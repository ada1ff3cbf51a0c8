/**
 * The names of the built-in features, for readers of flags: importing this loads no feature.
 */

/** The built-in features by name, as `--without` takes them. */
export const featureNames = [
  'routes',
  'endpoints',
  'certificates',
  'elections',
  'releases',
  'proxiers',
] as const;
export type FeatureName = (typeof featureNames)[number];
