/**
 * `orrery new-feature`: writes a folder with a working feature: chart, join, effect, reason, permissions and
 * tests.
 *
 * Promises: no file is overwritten; the written code passes its own tests. Absent: built-in features, which
 * are written within the repository.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeGivenFolder, notAllowed } from '../../base/config-values.ts';
import { OrreryError } from '../../base/errors.ts';
import { isActorKind } from '../../base/ids.ts';
import type { Program } from '../parser.ts';
import type { Terminal } from '../terminal.ts';

const examples = `
Examples:
  orrery new-feature drain --watch v1/Node
  orrery new-feature janitor --kind namespacelife --watch v1/Namespace
  orrery run --feature ./drain/feature.ts`;

export function newFeatureCommand(program: Program, terminal: Terminal): void {
  program
    .command('new-feature')
    .summary('start a feature of your own')
    .description('Write a folder with a feature that runs: chart, join, effect, reason, permissions, tests.')
    .argument('<name>', 'name of the feature and its folder: a word of a-z, 0-9 and hyphens')
    .option('--kind <KIND>', 'the kind of its actors (default: the name)')
    .option('--watch <KIND>', 'the Kubernetes objects that it watches, such as v1/Node', 'v1/ConfigMap')
    .addHelpText('after', examples)
    .action(async (name: string, options: { readonly kind?: string; readonly watch: string }) => {
      const feature = await readOptions(name, options);
      for (const path of write(terminal.directory, feature)) terminal.out(`wrote ${path}\n`);
      terminal.out(`\nNow: node --test\n     npx orrery chart ${feature.kind} --feature ./${name}\n`);
    });
}

interface NewFeature {
  readonly name: string;
  readonly kind: string;
  readonly watch: { readonly apiVersion: string; readonly kind: string };
  /** The resource of the watched kind, for its permissions. */
  readonly group: string;
  readonly plural: string;
}

/** @throws OrreryError USAGE */
async function readOptions(
  name: string,
  { kind = name, watch }: { readonly kind?: string; readonly watch: string },
): Promise<NewFeature> {
  for (const [what, text] of Object.entries({ NAME: name, '--kind': kind }))
    if (!isActorKind(text)) throw notAllowed(what, text, 'a word of a-z, 0-9, -');
  const { readKindName, groupOf, pluralOf } = await import('../../api/kind-name.ts');
  try {
    const watched = readKindName(watch as `${string}/${string}`);
    return { name, kind, watch: watched, group: groupOf(watched), plural: pluralOf(watched) };
  } catch {
    throw notAllowed('--watch', watch, 'apiVersion/Kind, such as v1/Node or apps/v1/Deployment');
  }
}

/** The template files; words such as `__kind__` are replaced. */
const template = join(import.meta.dirname, 'feature-template');
const files = ['feature.ts', 'feature.test.ts', 'access.yaml', 'README.md', 'package.json', 'tsconfig.json'];

/** @returns the paths. @throws OrreryError USAGE if one of them exists; then nothing is written */
function write(directory: string, feature: NewFeature): readonly string[] {
  const paths = files.map((file) => join(feature.name, file));
  const taken = paths.find((path) => existsSync(join(directory, path)));
  if (taken !== undefined) throw new OrreryError('USAGE', `${taken} already exists`);
  makeGivenFolder('NAME', join(directory, feature.name));
  for (const file of files) {
    const text = readFileSync(join(template, `${file}.txt`), 'utf8');
    writeFileSync(join(directory, feature.name, file), filled(text, feature));
  }
  return paths;
}

function filled(text: string, { watch: { apiVersion, kind: object }, ...own }: NewFeature): string {
  const words: Readonly<Record<string, string>> = { ...own, apiVersion, object };
  return text.replaceAll(/__([a-zA-Z]+)__/g, (whole, word: string) => words[word] ?? whole);
}
