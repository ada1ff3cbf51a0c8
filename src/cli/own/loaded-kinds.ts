/** The kinds that a command knows: the built-in ones, and those of the features it was told to load. */
import type { Kinds } from '../../replica/charts.ts';
import { readFeaturePlaces } from '../../replica/config.ts';
import { readDevFile } from '../dev-file.ts';
import { flagTexts } from '../parser.ts';
import type { Terminal } from '../terminal.ts';

/**
 * Features are named by `--feature`, by `ORRERY_FEATURES`, or by the running development cluster.
 *
 * @param options of the command, as the parser returns them
 * @throws OrreryError USAGE
 */
export async function loadedKinds(
  options: Readonly<Record<string, unknown>>,
  { env, directory }: Terminal,
): Promise<Kinds> {
  const given = readFeaturePlaces(flagTexts(options), env);
  const places = given.length > 0 ? given : (readDevFile(directory)?.features ?? []);
  const { ownKinds, kindsOf } = await import('../../replica/charts.ts');
  if (places.length === 0) return ownKinds;
  const [{ loadFeatures }, { featuresOf }] = await Promise.all([
    import('../../replica/loaded-features.ts'),
    import('../../replica/features.ts'),
  ]);
  return kindsOf([...featuresOf(), ...(await loadFeatures(places, directory))]);
}
