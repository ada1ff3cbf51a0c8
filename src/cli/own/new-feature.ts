/**
 * `orrery new-feature`: a folder with a feature that runs as it is: chart, join, effect, reason, rights and
 * tests.
 *
 * Promises: nothing is written over; what is written passes its own tests. Absent: features of the program
 * itself, which are written within the repository.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { notAllowed } from '../../base/config-values.ts';
import { OrreryError } from '../../base/errors.ts';
import { isActorKind } from '../../base/ids.ts';
import type { Program } from '../parser.ts';
import type { Terminal } from '../terminal.ts';
import { filesOf, type NewFeature } from './new-feature-files.ts';

const examples = `
Examples:
  orrery new-feature drain --watch v1/Node
  orrery new-feature janitor --kind namespacelife --watch v1/Namespace
  orrery run --feature ./drain/feature.ts`;

export function newFeatureCommand(program: Program, terminal: Terminal): void {
  program
    .command('new-feature')
    .summary('begin a feature of your own')
    .description('Write a folder with a feature that runs: chart, join, effect, reason, rights, tests.')
    .argument('<name>', 'its name, and that of the folder: a word of a-z, 0-9 and hyphens')
    .option('--kind <KIND>', 'the kind of its actors (default: the name)')
    .option('--watch <KIND>', 'the Kubernetes objects that it stands for, such as v1/Node', 'v1/ConfigMap')
    .addHelpText('after', examples)
    .action(async (name: string, options: { readonly kind?: string; readonly watch: string }) => {
      const feature = await readOptions(name, options);
      for (const path of write(terminal.directory, feature)) terminal.out(`wrote ${path}\n`);
      terminal.out(`\nNow: node --test\n     orrery chart ${feature.kind} --feature ./${name}\n`);
    });
}

/** @throws OrreryError USAGE */
async function readOptions(
  name: string,
  { kind = name, watch }: { readonly kind?: string; readonly watch: string },
): Promise<NewFeature> {
  const words = [
    ['NAME', name],
    ['--kind', kind],
  ] as const;
  for (const [what, text] of words) {
    if (!isActorKind(text)) throw notAllowed(what, text, 'a word of a-z, 0-9, -');
  }
  const { readKindName } = await import('../../api/kind-name.ts');
  try {
    return { name, kind, watch: readKindName(watch as `${string}/${string}`) };
  } catch {
    throw notAllowed('--watch', watch, 'apiVersion/Kind, such as v1/Node or apps/v1/Deployment');
  }
}

/** @returns the paths. @throws OrreryError USAGE if one of them is there already; then nothing is written */
function write(directory: string, feature: NewFeature): readonly string[] {
  const files = filesOf(feature).map(({ name, text }) => ({ path: join(feature.name, name), text }));
  const taken = files.find(({ path }) => existsSync(join(directory, path)));
  if (taken !== undefined) throw new OrreryError('USAGE', `${taken.path} is there already`);
  mkdirSync(join(directory, feature.name), { recursive: true });
  for (const { path, text } of files) writeFileSync(join(directory, path), text);
  return files.map(({ path }) => path);
}
