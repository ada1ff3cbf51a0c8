/**
 * The repository's own rules, as tests: each rule first on a fixture that breaks it, then on everything.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { missingOptional, unchecked, withoutIntegrity } from '../scripts/complete-lock.mjs';
import { charts, durableKinds } from '../src/replica/charts.ts';
import { bannedUses, forbiddenForms, overCeiling, sizesOf, wideComments } from './tidy/code.ts';
import { badNames, deadReferences, missingHeader, outsideMentions } from './tidy/files.ts';
import { scatteredPackages } from './tidy/imports.ts';
import { circles, misplaced, namedKinds, rooms, roomsMax, upwardImports } from './tidy/rooms.ts';
import { filesBelow, parseSource, readSource } from './tidy/source.ts';
import { listed } from './tidy/violation.ts';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const code = filesBelow(root, ['src', 'packages', 'test', 'bench', 'scripts']).filter((path) =>
  path.endsWith('.ts'),
);
const sources = code.map((path) => readSource(root, path));
const program = sources.filter(({ path }) => path.startsWith('src/'));
const packages = sources.filter(({ path }) => path.startsWith('packages/'));
const texts = [
  ...filesBelow(root, ['src', 'packages', 'test', 'bench', 'scripts', 'docs', 'deploy', 'examples', '.ci']),
  ...[
    'README.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
    'package.json',
    'package-lock.json',
    'biome.json',
    'tsconfig.json',
    '.npmrc',
  ],
].filter((path) => !/\.(png|jpg|webp|ico|woff2)$/.test(path));
type Packages = Readonly<Record<string, string>>;
const manifest: { readonly dependencies: Packages; readonly devDependencies: Packages } = JSON.parse(
  read('package.json'),
);
/** What only builds and tests; the other development packages are in the bundle. */
const tools =
  /^(@biomejs\/biome|@types\/.+|axe-core|elkjs|fast-check|node|playwright-core|rolldown|typescript|vitest)$/;
const taken = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }).filter(
  (name) => !tools.test(name),
);
const recorded: Record<string, number> = JSON.parse(read('test/tidy.baseline.json'));

describe('rooms', () => {
  const found = (path: string, text: string) => upwardImports([parseSource(path, text)]).length;

  test.each([
    ['src/machines/pod/pod.ts', "import { readFileSync } from 'node:fs'"],
    ['src/machines/pod/pod.ts', "import pino from 'pino'"],
    ['src/machines/pod/pod.ts', "import { systemClock } from '../../base/clock.ts'"],
    ['src/bus/nats/nats.ts', "import { podChart } from '../../machines/pod/pod.ts'"],
    ['src/actors/host/host.ts', "import type { Mirror } from '../../kube/mirror/mirror.ts'"],
    ['src/actors/host/host.ts', "export { runners } from '../../replica/replica.ts'"],
    ['src/actors/host/host.ts', "const later = () => import('../../features/routes/start.ts')"],
    ['src/base/limits.ts', "import { shardOf } from '../bus/shard.ts'"],
    ['src/features/routes/start.ts', "import { pack } from '../endpoints/packing/pack.ts'"],
    ['src/cli/dev.ts', "import { devCommand } from '../../packages/dev-cluster/command.ts'"],
    ['packages/kube-api/server.ts', "import { connectKube } from '../../src/kube/api/client.ts'"],
  ])('%s must not say %s', (path, text) => {
    expect(found(path, text)).toBe(1);
  });

  test.each([
    [
      'src/machines/pod/pod.ts',
      "import { setup } from 'xstate'; import { limits } from '../../base/limits.ts'",
    ],
    ['src/machines/pod/pod.ts', "import type { Clock } from '../../base/clock.ts'"],
    ['src/features/routes/start.ts', "import { runs } from '../../actors/effect-runner.ts'"],
    ['src/replica/replica.ts', "import { startHttp } from '../inspector/server.ts'"],
    ['packages/dev-cluster/cluster.ts', "import { connectKube } from '../../src/kube/api/client.ts'"],
  ])('%s may say %s', (path, text) => {
    expect(found(path, text)).toBe(0);
  });

  test('imports run downwards only', () => {
    expect(listed(upwardImports([...program, ...packages]))).toEqual([]);
  });

  test('there are few rooms, nothing lies outside of them, and none is crowded', () => {
    expect(rooms.length).toBeLessThanOrEqual(roomsMax);
    expect(misplaced(['src/loose.ts', 'src/attic/box.ts'])).toHaveLength(2);
    expect(misplaced(Array.from({ length: 21 }, (_, n) => `test/a/${n}.ts`))).toHaveLength(1);
    const files = [...program, ...packages].map(({ path }) => path);
    expect(misplaced(files)).toEqual([]);
  });

  test('no two files need each other, types included', () => {
    const [a, b] = ["import type { B } from './b.ts'", "import { a } from './a.ts'"];
    expect(circles([parseSource('src/x/a.ts', a), parseSource('src/x/b.ts', b)])).toHaveLength(1);
    expect(circles([...program, ...packages])).toEqual([]);
  });

  test('actors, kube, inspector and cli name no kind', () => {
    const named = parseSource('src/actors/host/host.ts', "const is = (id: string) => id.startsWith('pod/')");
    expect(namedKinds([named], durableKinds)).toHaveLength(1);
    expect(listed(namedKinds(program, durableKinds))).toEqual([]);
  });
});

describe('packages', () => {
  test('a package that a second file imports, or that is no dependency, is found', () => {
    const first = parseSource('src/base/log.ts', "import { pino } from 'pino'");
    const second = parseSource(
      'src/bus/nats/nats.ts',
      "import { pino } from 'pino'; import x from '@left/pad/deep.js'",
    );
    const messages = listed(scatteredPackages([first, second], ['pino']));
    expect(messages).toEqual([
      expect.stringContaining('src/bus/nats/nats.ts:1 pino is imported by src/base/log.ts already'),
      expect.stringContaining('@left/pad is no dependency'),
    ]);
  });

  test('each package is a dependency and is imported by one file', () => {
    expect(listed(scatteredPackages(program, taken))).toEqual([]);
  });

  test('the lock names the builds for every platform (else: node scripts/complete-lock.mjs)', () => {
    expect([...missingOptional(JSON.parse(read('package-lock.json'))).keys()]).toEqual([]);
  });

  test('every package in the lock is checked by its content, but those that are named, which nobody here installs', () => {
    const lock = JSON.parse(read('package-lock.json'));
    expect(unchecked(lock).map(({ name }) => name)).toEqual(withoutIntegrity);
    const left = unchecked(lock).map(({ path }) => lock.packages[path]);
    const isInstalled = ({ os = ['linux'], cpu = ['x64'], libc = ['glibc'] }) =>
      os.includes('linux') && libc.includes('glibc') && (cpu.includes('x64') || cpu.includes('arm64'));
    expect(left.filter(isInstalled)).toEqual([]);
    expect(left.filter(({ optional }) => optional !== true)).toEqual([]);
  });
});

describe('time and chance', () => {
  test.each([
    'Date.now()',
    'new Date()',
    'Date()',
    'performance.now()',
    'setTimeout(run, 5)',
    'globalThis.setInterval(run, 5)',
    'Math.random()',
    "import { setTimeout as wait } from 'node:timers/promises'",
  ])('%s is found, and the message names what to use', (text) => {
    const [violation] = bannedUses(parseSource('src/actors/host/host.ts', text));
    expect(violation?.message).toMatch(/banned: take a (Clock|Random) \(src\//);
  });

  test('a name that every object has is no banned call', () => {
    expect(bannedUses(parseSource('src/actors/host/host.ts', 'valueOf(); constructor()'))).toEqual([]);
  });

  test('a date made of a number is allowed, and clock.ts may read the time', () => {
    expect(bannedUses(parseSource('src/actors/host/host.ts', 'new Date(at)'))).toEqual([]);
    expect(bannedUses(parseSource('src/base/clock.ts', 'Date.now()'))).toEqual([]);
  });

  test('time and chance come in by a Clock and a Random alone', () => {
    expect(listed(sources.flatMap(bannedUses))).toEqual([]);
  });
});

describe('forms', () => {
  test.each([
    'export default 1',
    'let a: any',
    'a!.b',
    'enum A { B }',
    'class A { constructor(readonly b: C) {} }',
  ])('%s is found', (text) => {
    expect(forbiddenForms(parseSource('src/a.ts', text))).toHaveLength(1);
  });

  test('no default export, any, "!", enum or parameter property', () => {
    expect(listed(sources.flatMap(forbiddenForms))).toEqual([]);
  });
});

describe('ceilings', () => {
  const long = (lines: number) => `function f() {\n${'  g();\n'.repeat(lines - 2)}}\n`;
  const sizes = (lines: number) => sizesOf(parseSource('src/a.ts', long(lines)));

  test('a function of 61 lines and a file of 401 lines are over', () => {
    expect(overCeiling(sizes(60), {})).toEqual([]);
    expect(overCeiling(sizes(61), {})).toEqual(['src/a.ts#f has 61 lines, allowed are 60: split it']);
    expect(overCeiling(sizesOf(parseSource('src/a.ts', 'g();\n'.repeat(401))), {})).toHaveLength(1);
  });

  test('a function counts whole, with those inside of it', () => {
    const text = `function f() {\n  const g = () => {\n${'    h();\n'.repeat(59)}  };\n  g();\n}\n`;
    const lengths = sizesOf(parseSource('src/a.ts', text)).map(({ name, lines }) => [name, lines]);
    expect(lengths).toEqual([
      ['src/a.ts', 64],
      ['src/a.ts#f', 64],
      ['src/a.ts#g', 61],
    ]);
  });

  test('a recorded size may shrink and never grow', () => {
    expect(overCeiling(sizes(70), { 'src/a.ts#f': 70 })).toEqual([]);
    expect(overCeiling(sizes(71), { 'src/a.ts#f': 70 })).toHaveLength(1);
    expect(overCeiling(sizes(65), { 'src/a.ts#f': 70 })).toEqual([expect.stringContaining('write 65 into')]);
    expect(overCeiling(sizes(50), { 'src/a.ts#f': 70 })).toEqual([expect.stringContaining('take it out of')]);
  });

  test.each(['describe', 'describe.each([1])', 'describe.skipIf(true)'])(
    'a group of tests is no function, the tests in it are: %s',
    (group) => {
      const text = `${group}('a', () => {\n  test('b', () => {\n${'    g();\n'.repeat(61)}  });\n});\n`;
      const over = sizesOf(parseSource('test/a.test.ts', text)).filter(
        ({ lines, ceiling }) => lines > ceiling,
      );
      expect(over).toHaveLength(1);
    },
  );

  test('a comment is at most 110 wide', () => {
    expect(wideComments({ path: 'src/a.ts', text: `// ${'word '.repeat(30)}\n// short\n` })).toMatchObject([
      { lines: 1 },
    ]);
  });

  test('no file is longer than 400 lines, no function longer than 60, no comment wide, but for those recorded', () => {
    expect(overCeiling([...sources.flatMap(sizesOf), ...sources.flatMap(wideComments)], recorded)).toEqual(
      [],
    );
  });
});

describe('files', () => {
  test.each(['src/bus/utils.ts', 'src/actor-manager.ts', 'src/bus/natsBus.ts'])(
    'the name %s is found',
    (path) => {
      expect(badNames([path])).toHaveLength(1);
    },
  );

  test('every file has a name that says its job', () => {
    expect(listed(badNames([...code, ...filesBelow(root, ['docs', 'deploy'])]))).toEqual([]);
  });

  test('every file of the program begins with what it owns', () => {
    expect(missingHeader('src/a.ts', 'const a = 1;')).toHaveLength(1);
    expect(listed(program.flatMap(({ path, text }) => missingHeader(path, text)))).toEqual([]);
  });

  test('a file that a comment of the program names is there', () => {
    const said = '/** What it does (bus/a.ts, b.ts). */\n';
    expect(deadReferences('src/c.ts', said, ['src/bus/a.ts', 'src/bb.ts'])).toHaveLength(1);
    const files = sources.map(({ path }) => path);
    expect(
      listed([...program, ...packages].flatMap(({ path, text }) => deadReferences(path, text, files))),
    ).toEqual([]);
  });

  test.each([
    ['/wo', 'rk/main'],
    ['see ../sha', 'red/design'],
    ['https://registry.np', 'mjs.org/a'],
    ['gh', 'cr.io/a/b:1'],
  ])('a mention of the outside is found: %s%s', (...pieces) => {
    expect(outsideMentions('docs/a.md', pieces.join(''))).toHaveLength(1);
  });

  test('the repository stands alone: no path of one machine, no host of a registry', () => {
    expect(listed(texts.flatMap((path) => outsideMentions(path, read(path))))).toEqual([]);
  });
});

describe('machines', () => {
  test('every chart in src/machines/ is one of a feature, in a folder of its name', () => {
    const made = program.filter(
      ({ path, text }) => path.startsWith('src/machines/') && text.includes('.createMachine('),
    );
    const folders = made.map(({ path }) => path.split('/')[2] ?? '');
    expect(folders.sort()).toEqual(charts.map(({ name }) => name).sort());
  });

  test('every machine is drawn in docs/machines/', () => {
    const drawn = filesBelow(root, ['docs/machines']);
    expect(drawn).toEqual(expect.arrayContaining(charts.map(({ name }) => `docs/machines/${name}.md`)));
  });
});

test('whoever builds the types with orrery/testing gets all that are built without it', () => {
  const filesOf = (path: string) => (JSON.parse(read(path)) as { readonly files: readonly string[] }).files;
  expect(filesOf('tsconfig.testing-build.json')).toEqual(
    expect.arrayContaining([...filesOf('tsconfig.build.json')]),
  );
});
