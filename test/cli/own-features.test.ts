/** Features of a user's own, as commands load them: a file in an empty folder, without anything installed. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const sample = readFileSync(join(root, 'test/api/greetings.ts'), 'utf8').replace(
  '../../src/api/index.ts',
  'orrery',
);
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'orrery-own-feature-'));
  mkdirSync(join(folder, 'greetings'));
  writeFileSync(join(folder, 'greetings/feature.ts'), sample);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const orrery = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  spawnSync(join(root, 'node_modules/.bin/node'), [join(root, 'src/main.ts'), ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env.PATH ?? '', ...env },
  });

test('its chart is drawn as those of the program are, from a file or a folder, and beside it what is doubtful', () => {
  const { stdout, stderr } = orrery(['chart', 'greeting'], { ORRERY_FEATURES: './greetings' });
  expect(stderr).toBe('');
  expect(stdout).toContain('greeting, version 1: Greets whom a ConfigMap names.');
  const untaken = sample.replace('messages: {', "messages: { 'greeting.stop': v.object({}),");
  writeFileSync(join(folder, 'greetings/other.ts'), untaken);
  expect(orrery(['chart', 'greeting', '--feature', 'greetings/other.ts'])).toMatchObject({
    status: 0,
    stdout,
    stderr: expect.stringMatching(/^warning: kind greeting: no state takes the message greeting.stop: .*\n$/),
  });
});

test('what cannot be used is refused with the file and the reason, on one line, with exit code 2', () => {
  const { status, stderr } = orrery(['chart', 'pod', '--feature', './nowhere.ts']);
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: 'error: --feature: ./nowhere.ts cannot be used: there is no such file\n',
  });
});

test('orrery run refuses it before it looks for anything else, and names the file and the reason', () => {
  writeFileSync(
    join(folder, 'unplain.ts'),
    wrong('machine: setup({}).createMachine({ context: { at: new Map() } })'),
  );
  const nowhere = ['--nats', 'nats://127.0.0.1:1', '--http', '127.0.0.1:0'];
  const { status, stderr } = orrery(['run', ...nowhere, '--feature', './unplain.ts']);
  expect(status).toBe(2);
  expect(stderr).toMatch(
    /^error: --feature: .\/unplain.ts cannot be used: .*its context is not plain data: context.at is a Map/,
  );
});

const wrong = (change: string) =>
  `import { kindOptions, write } from './greetings/feature.ts';
   import { createMachine } from 'xstate';
   import { assign, defineFeature, defineKind, setup, v } from 'orrery';
   const calm = setup({}).createMachine({});
   const kind = defineKind({ ...kindOptions, ${change} });
   export const feature = defineFeature({ name: 'wrong', version: '1.0.0', kinds: [kind] });`;

const refusals: ReadonlyArray<readonly [what: string, text: string, reason: string | RegExp]> = [
  [
    'a file without a feature',
    'export const nothing = 1;',
    'it exports no feature: export const feature = defineFeature({…})',
  ],
  ['a file that cannot be read', 'export const = 1;', 'Unexpected token'],
  ['a file that throws', "throw new Error('no weather today');", /no weather today \(\S+\.ts:1\)$/],
  ['a file that lacks a package', "import 'no-such-package';", "Cannot find package 'no-such-package'"],
  [
    'a kind of the program',
    wrong("name: 'pod', join: undefined, effects: [], createdBy: ['greeting.again'], machine: calm"),
    'the kind pod belongs to the feature routes already',
  ],
  [
    'a kind that another loaded feature has',
    wrong("name: 'greeting'"),
    'the kind greeting belongs to the feature greetings already',
  ],
  [
    'a kind that is defined twice',
    `import { greeting } from './greetings/feature.ts';
     import { defineFeature } from 'orrery';
     export const feature = defineFeature({ name: 'wrong', version: '1.0.0', kinds: [greeting, { ...greeting }] });`,
    'the kind greeting is defined twice',
  ],
  [
    'two effects of one name',
    `import { kindOptions, write } from './greetings/feature.ts';
     import { defineFeature, defineKind } from 'orrery';
     const kinds = ['one', 'two'].map((name) =>
       defineKind({ ...kindOptions, name, join: undefined, createdBy: ['greeting.again'], effects: [{ ...write }] }));
     export const feature = defineFeature({ name: 'wrong', version: '1.0.0', kinds });`,
    'two effects are called greeting.write',
  ],
  [
    'an effect without a runner',
    wrong('effects: [{ ...write, run: undefined }]'),
    'the effect greeting.write has no runner',
  ],
  [
    'an event without a schema',
    wrong('messages: {}'),
    'the event greeting.again has no schema in messages or internal',
  ],
  [
    'a context that is no plain data',
    wrong('machine: setup({}).createMachine({ context: { since: new Date(0) } })'),
    'its context is not plain data: context.since is a Date',
  ],
  [
    'an action that is a function',
    wrong("machine: setup({ actions: { log: () => {} } }).createMachine({ entry: 'log' })"),
    'the action log is a function: declare an effect(…), and list it',
  ],
  [
    'a guard that is missing',
    wrong(
      "machine: createMachine({ initial: 'x', always: { guard: 'isLate', target: '.x' }, states: { x: {} } })",
    ),
    'the guard isLate is not implemented',
  ],
  [
    'a misspelt action, with what is meant',
    wrong("machine: setup({ actions: { calm: assign({}) } }).createMachine({ entry: 'clam' })"),
    'the action clam is neither implemented nor an effect of the kind (is calm meant?)',
  ],
  [
    'an observation of another kind',
    wrong(
      "machine: setup({}).createMachine({ initial: 'x', states: { x: { on: { 'greet.observed': 'x' } } } })",
    ),
    'the event greet.observed has no schema in messages or internal (greeting.observed would be sent)',
  ],
  [
    'a context that cannot be made',
    wrong('machine: setup({}).createMachine({ context: ({ input }) => ({ uid: input.object.uid }) })'),
    'its context cannot be created: Cannot read properties of undefined',
  ],
  [
    'a feature without a list of kinds',
    `import { greeting } from './greetings/feature.ts';
     import { defineFeature } from 'orrery';
     export const feature = defineFeature({ name: 'wrong', version: '1.0.0', kinds: greeting });`,
    'its kinds are not a list of defineKind({…})',
  ],
  [
    'a join without facts',
    "import { join, v, watch } from 'orrery'; join(watch('v1/Pod', { digest: v.object({}) }), { fact: () => null });",
    'join(…) of Pod: facts is not a function',
  ],
  [
    'a watch whose digest is no schema',
    "import { watch } from 'orrery'; watch('v1/Pod', { digest: {} });",
    'watch(…) of Pod: digest is not a schema, v.object({…})',
  ],
  ['a version without a way to it', wrong('version: 2'), 'no migration leads on from version 1'],
  [
    'a message that is not an object',
    wrong("messages: { 'greeting.again': v.string() }"),
    'the schema of greeting.again is not a plain v.object',
  ],
  [
    'a feature without a name',
    "import { defineFeature } from 'orrery'; export const feature = defineFeature({ version: '1.0.0', kinds: [] } as never);",
    'its name undefined is not a word of a-z, 0-9 and hyphens',
  ],
  [
    'a feature that already exists',
    "export { greetings } from './greetings/feature.ts';",
    'a feature greetings exists already; the kind greeting belongs to the feature greetings already; ' +
      'the effect greeting.write belongs to the feature greetings already',
  ],
];

/** One process for all of them: what each is told. */
function toldOf(places: readonly string[]): readonly string[] {
  const script = `
    import { loadFeatures } from ${JSON.stringify(join(root, 'src/replica/loaded-features.ts'))};
    const told = [];
    for (const place of process.argv.slice(2))
      told.push(await loadFeatures(['./greetings', place], process.cwd()).then(() => 'taken', (error) => error.message));
    process.stdout.write(JSON.stringify(told));`;
  writeFileSync(join(folder, 'ask.mjs'), script);
  const { stdout, stderr } = spawnSync(
    join(root, 'node_modules/.bin/node'),
    [join(folder, 'ask.mjs'), ...places],
    { cwd: folder, encoding: 'utf8' },
  );
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

test('a feature that cannot be run is refused, with its file and everything that is wrong', () => {
  const places = refusals.map(([, text], index) => {
    writeFileSync(join(folder, `file-${index}.ts`), text);
    return `./file-${index}.ts`;
  });
  const told = toldOf(places);
  expect(told).toEqual(
    refusals.map(([, , reason], index) =>
      expect.stringMatching(
        new RegExp(`^--feature: ./file-${index}.ts cannot be used: [^]*${escaped(reason)}`),
      ),
    ),
  );
});

const escaped = (text: string | RegExp) =>
  typeof text !== 'string' ? text.source : text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
