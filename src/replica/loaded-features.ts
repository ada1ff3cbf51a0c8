/**
 * Loads features of your own: files and packages named with `--feature`.
 *
 * Promises: TypeScript runs directly (Node strips the types); an import of `orrery` resolves to this very
 * program, wherever the file is, without an installation; what cannot be loaded, or conflicts with other
 * features, is refused with the file and the reason.
 */
import { existsSync, statSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Feature } from '../actors/feature.ts';
import { asError, hasCode, OrreryError, placeOf } from '../base/errors.ts';
import { featuresOf } from './features.ts';

/**
 * @param places paths, or names of packages
 * @param directory where relative places are resolved
 * @param known features with which they must not conflict; default: the built-in ones
 * @throws OrreryError USAGE
 */
export async function loadFeatures(
  places: readonly string[],
  directory: string,
  known: readonly Feature[] = featuresOf(),
): Promise<readonly Feature[]> {
  const loaded: Feature[] = [];
  for (const place of places) {
    for (const feature of await loadOne(place, directory)) {
      const misfits = misfitsOf(feature, [...known, ...loaded]);
      if (misfits.length > 0) throw refused(place, misfits.join('; '));
      loaded.push(feature);
    }
  }
  return loaded;
}

const refused = (place: string, reason: string, cause?: unknown) =>
  new OrreryError('USAGE', `--feature: ${place} cannot be used: ${reason}`, { cause });

async function loadOne(place: string, directory: string): Promise<readonly Feature[]> {
  provideOwnPackage(directory);
  let loaded: object;
  try {
    loaded = await import(specifierOf(place, directory));
  } catch (thrown) {
    const error = asError(thrown);
    // Our own words say what is wrong; for others the place does.
    const where = hasCode(error, 'USAGE') ? '' : placeOf(error);
    throw refused(place, `${error.message.replace(packageScheme, '')}${where}`, thrown);
  }
  const found = [...new Set(Object.values(loaded))].filter(isFeature);
  if (found.length === 0)
    throw refused(place, 'it exports no feature: export const feature = defineFeature({…})');
  return found;
}

function isFeature(value: unknown): value is Feature {
  return (
    typeof value === 'object' &&
    value !== null &&
    'edition' in value &&
    'kinds' in value &&
    'load' in value &&
    typeof value.load === 'function'
  );
}

/** The entry file of a folder, in order of preference. */
const entries = ['feature.ts', 'feature.js', 'feature.mjs'] as const;
/** Prefix of a package's name, so that it is resolved from the working directory. */
const packageScheme = 'orrery-feature:';

function specifierOf(place: string, directory: string): string {
  const path = resolve(directory, place);
  if (!existsSync(path)) {
    if (/^(\.{0,2}\/|[A-Za-z]:\\)|\.[cm]?[jt]s$/.test(place))
      throw new OrreryError('USAGE', 'there is no such file');
    return `${packageScheme}${place}`;
  }
  if (!statSync(path).isDirectory()) return pathToFileURL(path).href;
  const entry = entries.map((name) => join(path, name)).find((file) => existsSync(file));
  if (entry === undefined) throw new OrreryError('USAGE', `the folder has none of ${entries.join(', ')}`);
  return pathToFileURL(entry).href;
}

let isProvided = false;

/** For the whole process, once. */
function provideOwnPackage(directory: string): void {
  if (isProvided) return;
  isProvided = true;
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const own = new URL(`../api/index.${extension}`, import.meta.url).href;
  const from = pathToFileURL(join(directory, 'feature')).href;
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === 'orrery') return { url: own, shortCircuit: true };
      if (specifier.startsWith(packageScheme))
        return next(specifier.slice(packageScheme.length), { ...context, parentURL: from });
      // xstate and valibot come with the program.
      if (specifier === 'xstate' || specifier === 'valibot')
        return next(specifier, { ...context, parentURL: own });
      return next(specifier, context);
    },
  });
}

/**
 * Whether the feature fits the others: no name may stand for two things.
 * @returns each conflict in words; empty: it fits
 */
function misfitsOf(feature: Feature, others: readonly Feature[]): readonly string[] {
  const kinds = new Map(
    others.flatMap(({ name, kinds }) => kinds.map(({ chart }) => [chart.name, name] as const)),
  );
  const effects = new Map(
    others.flatMap(({ name, kinds }) =>
      kinds.flatMap(({ chart }) => chart.effects.map(({ type }) => [type, name] as const)),
    ),
  );
  const metrics = new Set(others.flatMap((other) => Object.keys(other.metrics)));
  const own = new Set(feature.kinds.flatMap(({ chart }) => chart.effects.map(({ type }) => type)));
  own.delete('message.send');
  return [
    ...others
      .filter(({ name }) => name === feature.name)
      .map(({ name }) => `a feature ${name} exists already`),
    ...feature.kinds.flatMap(({ chart }) => taken('kind', chart.name, kinds)),
    ...[...own].flatMap((type) => taken('effect', type, effects)),
    ...Object.keys(feature.metrics).flatMap((name) =>
      metrics.has(name) || name.startsWith('orrery_')
        ? [`the metric ${name} exists already, or begins with orrery_`]
        : [],
    ),
    ...feature.kinds.flatMap(({ chart: { name } }) =>
      reserved.includes(name) ? [`the kind ${name} is a part of a replica`] : [],
    ),
  ];
}

/** Charts of a replica's own life. */
const reserved = ['shard', 'watch'];

function taken(what: string, name: string, known: ReadonlyMap<string, string>): readonly string[] {
  const owner = known.get(name);
  return owner === undefined ? [] : [`the ${what} ${name} belongs to the feature ${owner} already`];
}
