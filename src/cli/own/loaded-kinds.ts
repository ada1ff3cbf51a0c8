/** The kinds that a command knows: those of the program, and of the features that it was told of. */
import type { Kinds } from '../../replica/charts.ts';
import { readFeaturePlaces } from '../../replica/config.ts';
import { readDevFile } from '../dev-file.ts';
import { flagTexts } from '../parser.ts';
import type { Terminal } from '../terminal.ts';

/**
 * Features are named by `--feature`, by `ORRERY_FEATURES`, or by the development cluster that runs here.
 *
 * @param options of the command, as the parser gives them
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
