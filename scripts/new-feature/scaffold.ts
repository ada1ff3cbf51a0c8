/** Creates the files of a new feature from the template beside this file. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pluralOf } from '../../src/api/kind-name.ts';
import { kindText, watchesOf } from '../../src/kube/mirror/merged-watch.ts';
import { featuresOf } from '../../src/replica/features.ts';

export interface NewFeature {
  /** One word in lower case: the folder in src/features. */
  readonly name: string;
  /** One word in lower case: the kind of its actors. */
  readonly kind: string;
  /** What its actors represent. */
  readonly watch: { readonly apiVersion: string; readonly kind: string };
}

const word = /^[a-z][a-z0-9]{1,30}$/;
const template = join(import.meta.dirname, 'template');

/** @throws Error that says what is wrong and what is allowed */
export function readOptions(
  [name = '', ...others]: readonly string[],
  { kind = name, watch = 'v1/ConfigMap' }: { readonly kind?: string; readonly watch?: string },
): NewFeature {
  for (const [what, text] of [
    ['NAME', name],
    ['--kind', kind],
  ] as const) {
    if (!word.test(text))
      throw new Error(`${what}: ${JSON.stringify(text)} is not allowed; allowed: one word of a-z, 0-9`);
  }
  if (others.length > 0) throw new Error(`one NAME is enough: what is ${JSON.stringify(others[0])}?`);
  const slash = watch.lastIndexOf('/');
  if (slash < 1 || !/^[A-Z][A-Za-z0-9]*$/.test(watch.slice(slash + 1))) {
    throw new Error(
      `--watch: ${JSON.stringify(watch)} is not allowed; allowed: apiVersion/Kind, such as v1/ConfigMap`,
    );
  }
  return { name, kind, watch: { apiVersion: watch.slice(0, slash), kind: watch.slice(slash + 1) } };
}

/**
 * @returns the paths that were written
 * @throws Error if one of them already exists; then nothing is written
 */
export function scaffold(root: string, feature: NewFeature): string[] {
  const files = new Map(
    readdirSync(template, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.txt'))
      .map((path) => [
        filled(path.replace(/\.txt$/, ''), feature),
        filled(readFileSync(join(template, path), 'utf8'), feature),
      ]),
  );
  const taken = [...files.keys()].find((path) => existsSync(join(root, path)));
  if (taken !== undefined) throw new Error(`${taken} is there already`);
  for (const [path, text] of files) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const changed = [...listed(root, feature), ...indexed(root, feature)];
  return [...files.keys(), ...changed];
}

/** The one line that adds the feature to the program. */
function listed(root: string, { name }: NewFeature): string[] {
  const path = 'src/replica/features.ts';
  const text = readFileSync(join(root, path), 'utf8');
  const imports = /(?:import \{ [a-z0-9]+ \} from '\.\.\/features\/[^\n]+\n)+/;
  const line = `import { ${name} } from '../features/${name}/feature.ts';`;
  const withImport = text.replace(
    imports,
    (lines) => `${[...lines.trim().split('\n'), line].sort(byFolder).join('\n')}\n`,
  );
  const whole = withImport.replace(/\n {2}\];/, `\n    ${name}(),\n  ];`);
  if (withImport === text || whole === withImport) throw new Error(`${path} has another form than expected`);
  writeFileSync(join(root, path), whole);
  return [path];
}

const byFolder = (a: string, b: string) => (folderOf(a) < folderOf(b) ? -1 : 1);
const folderOf = (line: string) => /features\/([a-z0-9]+)/.exec(line)?.[1] ?? '';

/** Adds its page to the index. */
function indexed(root: string, { name }: NewFeature): string[] {
  const path = 'docs/README.md';
  const text = readFileSync(join(root, path), 'utf8');
  const last = [...text.matchAll(/^.*\]\(features\/[a-z]+\.md\).*$/gm)].at(-1);
  if (last === undefined) return [];
  const end = last.index + last[0].length;
  const line = `- [features/${name}.md](features/${name}.md) – what ${name} promises`;
  writeFileSync(join(root, path), `${text.slice(0, end)}\n${line}${text.slice(end)}`);
  return [path];
}

/** Fills in names in the form that each place needs. */
function filled(text: string, { name, kind, watch }: NewFeature): string {
  const words: Readonly<Record<string, string>> = {
    __name__: name,
    __Name__: capital(name),
    __kind__: kind,
    __Kind__: capital(kind),
    __apiVersion__: watch.apiVersion,
    __watched__: watch.kind,
    ...watchedNames(watch),
  };
  return text.replaceAll(/__[A-Za-z]+__/g, (word) => words[word] ?? word);
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** Names of the watched resource: those of the features that already watch it, or else the default ones. */
function watchedNames({ apiVersion, kind }: NewFeature['watch']): Record<string, string> {
  const text = `${apiVersion}/${kind}`;
  const known = watchesOf(featuresOf()).find(({ resource }) => kindText(resource) === text);
  const plural = pluralOf({ apiVersion, kind });
  const group = apiVersion.includes('/') ? `.${apiVersion.slice(0, apiVersion.indexOf('/'))}` : '';
  return {
    __resource__: known?.name ?? `${plural}${group}`,
    __statement__: known?.mirror ?? text,
    __digestKind__: known?.digestKind ?? plural,
  };
}
