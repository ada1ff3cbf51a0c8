/** The charts that a command knows: those of the program, and of the features that it was told of. */
import type { Chart } from '../../machines/chart.ts';
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
export async function loadedCharts(
  options: Readonly<Record<string, unknown>>,
  { env, directory }: Terminal,
): Promise<readonly Chart[]> {
  const given = readFeaturePlaces(flagTexts(options), env);
  const places = given.length > 0 ? given : (readDevFile(directory)?.features ?? []);
  const { charts, chartsWith } = await import('../../replica/charts.ts');
  if (places.length === 0) return charts;
  const [{ loadFeatures }, { featuresOf }] = await Promise.all([
    import('../../replica/loaded-features.ts'),
    import('../../replica/features.ts'),
  ]);
  return chartsWith([...featuresOf(), ...(await loadFeatures(places, directory))]);
}
