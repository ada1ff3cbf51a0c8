/** Packages: each is imported by one file that knows it, and is a dependency of whoever imports it. */
import type { Import, Source } from './source.ts';
import type { Violation } from './violation.ts';

/**
 * Packages that more than one file may import, and which: xstate is the language of the charts, which the API
 * hands on, and step.ts interprets it; the others are pure and make sense of what comes from outside,
 * wherever it comes in. Every other package has one file that knows it.
 */
const sharedPackages: Readonly<Record<string, (path: string) => boolean>> = {
  xstate: (path) =>
    path.startsWith('src/machines/') ||
    path.startsWith('src/api/') ||
    ['src/actors/host/step.ts', 'src/actors/host/local.ts'].includes(path),
  valibot: () => true,
  yaml: () => true,
  'ipaddr.js': () => true,
};

/** Packages that a second file imports, or that package.json does not list as a dependency of the program. */
export function scatteredPackages(sources: readonly Source[], dependencies: readonly string[]): Violation[] {
  const firstImporter = new Map<string, string>();
  const violations: Violation[] = [];
  for (const { path, imports } of sources) {
    for (const { target, line } of imports.filter(isPackage)) {
      const name = packageName(target);
      const first = firstImporter.get(name) ?? path;
      firstImporter.set(name, first);
      const report = (message: string) => violations.push({ path, line, message });
      if (!dependencies.includes(name)) report(`${name} is no dependency in package.json`);
      const sharing = sharedPackages[name];
      if (sharing ? !sharing(path) : first !== path) {
        report(`${name} is imported by ${first} already: one file knows a package, ask that file`);
      }
    }
  }
  return violations;
}

function isPackage({ target }: Import): boolean {
  return (
    !target.startsWith('node:') &&
    !target.includes('.ts') &&
    !/^(src|packages|test|scripts|bench)\//.test(target)
  );
}

function packageName(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}
