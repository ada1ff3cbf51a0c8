/**
 * Who may import whom: docs/architecture.md, "Who may import whom", as a table that is checked.
 *
 * A target is a folder of src/ (`bus`), one of its files (`bus/bus.ts`), `root` (the files directly in src/ that need no
 * folder), or a package. `type:` in front allows `import type` alone.
 */
import type { Import, Source } from './source.ts';
import type { Violation } from './violation.ts';

/** Files directly in src/ that put the parts together: they may import every part, and no part may import them. */
const compositionFiles: readonly string[] = [
  'src/main.ts',
  'src/replica/replica.ts',
  'src/actors/control/control-client.ts',
  'src/replica/watches.ts',
  'src/features/certificates/challenges.ts',
  'src/features/certificates/certificate-parts.ts',
  'src/replica/warnings.ts',
  'src/replica/health/own-health.ts',
  'src/features/releases/release.ts',
  'src/replica/inspector-parts.ts',
  'src/replica/replica-tells.ts',
  'src/features/elections/campaign.ts',
];

const allowed: Readonly<Record<string, readonly string[]>> = {
  machines: [
    'machines',
    'xstate',
    'semantic-version.ts',
    'type:ids.ts',
    'type:digests.ts',
    'type:lease-record.ts',
  ],
  bus: ['bus', 'root'],
  kube: [
    'kube',
    'root',
    'type:machines/events.ts',
    'type:machines/facts.ts',
    'type:machines/release-events.ts',
    'type:machines/release-table.ts',
    'type:machines/watch.ts',
  ],
  acme: ['acme', 'root', 'type:machines/events.ts'],
  probe: ['probe', 'root', 'type:machines/events.ts', 'type:machines/facts.ts'],
  effects: [
    'effects',
    'effect-runner.ts',
    'machines/effects.ts',
    'type:machines',
    'kube',
    'acme',
    'probe',
    'endpoints',
    // The port, and how a message is addressed and written: both without I/O.
    'bus/bus.ts',
    'bus/subjects.ts',
    'bus/envelope.ts',
    'root',
  ],
  actors: ['actors', 'machines', 'bus', 'endpoints', 'root'],
  endpoints: ['endpoints', 'root'],
  inspector: ['inspector', 'machines', 'bus', 'root', 'health/health-body.ts'],
  // A proxier's chart outside of an engine: for a node agent, and for programs that use the library.
  health: ['health', 'machines', 'bus', 'root', 'actors/local.ts'],
  dev: ['dev', 'kube', 'bus', 'root', 'type:machines'],
  cli: ['*'],
  composition: [
    'composition',
    'actors',
    'acme',
    'bus',
    'effects',
    'endpoints',
    'health',
    'inspector',
    'kube',
    'machines',
    'probe',
    'root',
  ],
  root: ['root', 'type:machines'],
};

/**
 * Packages that more than one file may import, and which: xstate is the language of the charts and step.ts interprets
 * it (local.ts names its type); the others are pure and make sense of what comes from outside,
 * wherever it comes in. Every other package has one file that knows it.
 */
const sharedPackages: Readonly<Record<string, (path: string) => boolean>> = {
  xstate: (path) =>
    path.startsWith('src/machines/') ||
    ['src/actors/host/step.ts', 'src/actors/host/local.ts'].includes(path),
  valibot: () => true,
  yaml: () => true,
  'ipaddr.js': () => true,
};

/** Files of src/ that import what their place does not allow. */
export function forbiddenImports(sources: readonly Source[]): Violation[] {
  return sources.flatMap((source) =>
    source.imports
      .filter((imported) => !isAllowed(source.path, imported))
      .map(({ line, target }) => ({
        path: source.path,
        line,
        message: `${placeOf(source.path)} must not import ${target}: allowed is ${(allowed[placeOf(source.path)] ?? []).join(', ')}`,
      })),
  );
}

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

function isAllowed(path: string, imported: Import): boolean {
  const rules = allowed[placeOf(path)] ?? [];
  if (rules.includes('*')) return true;
  if (imported.target.startsWith('node:')) return placeOf(path) !== 'machines';
  if (isPackage(imported))
    return placeOf(path) !== 'machines' || rules.includes(packageName(imported.target));
  const names = [placeOf(imported.target), imported.target.replace(/^src\//, '')];
  return names.some((name) => rules.includes(name) || (imported.typeOnly && rules.includes(`type:${name}`)));
}

function placeOf(path: string): string {
  if (compositionFiles.includes(path)) return path === 'src/main.ts' ? 'cli' : 'composition';
  return /^src\/([^/]+)\//.exec(path)?.[1] ?? (/^src\/[^/]+$/.test(path) ? 'root' : 'outside');
}

function isPackage({ target }: Import): boolean {
  return (
    !target.startsWith('node:') && !target.includes('.ts') && !/^(src|test|scripts|bench)\//.test(target)
  );
}

function packageName(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}
