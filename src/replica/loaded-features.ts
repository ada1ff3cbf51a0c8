/**
 * Loads features of your own: files and packages that were named with `--feature`.
 *
 * Promises: TypeScript runs as it is (Node strips the types); whoever imports `orrery` gets this very
 * program's, wherever the file lies, and need not have installed it; what cannot be loaded, or does not fit
 * to the other features, is refused with the file and the reason.
 */
import { existsSync, statSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Feature } from '../actors/feature.ts';
import { asError, OrreryError } from '../base/errors.ts';
import { misfitsOf } from './feature-misfits.ts';
import { featuresOf } from './features.ts';

/**
 * @param places paths, or names of packages @param directory where they are looked for
 * @param known what they must fit to; absent: the features of the program
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
    const { message } = asError(thrown);
    throw refused(place, message.replace(packageScheme, ''), thrown);
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

/** What a folder may hold, in this order. */
const entries = ['feature.ts', 'feature.js', 'feature.mjs'] as const;
/** Stands before the name of a package, so that it is looked for from the working directory. */
const packageScheme = 'orrery-feature:';

function specifierOf(place: string, directory: string): string {
  const path = resolve(directory, place);
  if (!existsSync(path)) {
    if (/^(\.{0,2}\/|[A-Za-z]:\\)|\.[cm]?[jt]s$/.test(place)) throw new Error('there is no such file');
    return `${packageScheme}${place}`;
  }
  if (!statSync(path).isDirectory()) return pathToFileURL(path).href;
  const entry = entries.map((name) => join(path, name)).find((file) => existsSync(file));
  if (entry === undefined) throw new Error(`the folder has none of ${entries.join(', ')}`);
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
      // The charts' language and the schemas' come with the program.
      if (specifier === 'xstate' || specifier === 'valibot')
        return next(specifier, { ...context, parentURL: own });
      return next(specifier, context);
    },
  });
}
