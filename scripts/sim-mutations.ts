/**
 * Breaks the program on purpose, in a copy, and checks whether the simulation notices: `node
 * scripts/sim-mutations.ts`.
 *
 * Each mutation is one textual change (data, below). src/, test/, packages/ and examples/ are copied to a
 * temporary folder outside the repository, the change is made there, and the simulation runs until the first
 * broken promise. A mutation that survives means that the simulation is too weak. A seed that breaks without
 * it as well shows nothing, and ends the run. Prints a table: mutation, promise seen broken, seed.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { simulatedFeatures } from '../test/sim/turns.ts';
import { choice, number, readFlags, text, toggle, whole } from './flags.ts';
import type { Mutation } from './sim-mutations/mutation.ts';
import { mutations } from './sim-mutations/mutations.ts';

const values = readFlags(
  'npm run sim:mutations --',
  'Breaks the program on purpose, in a copy, and shows which promise of the simulation notices.',
  {
    seeds: whole('seeds to try; npm test tries as many', 200),
    from: whole('the first of them', 1),
    seconds: number('simulated seconds in which things happen and fail', 30),
    only: text('only mutations whose name contains this', ''),
    feature: choice('only those of this feature', simulatedFeatures),
    write: toggle('writes the findings into the table of docs/simulation.md'),
  },
);
const root = join(import.meta.dirname, '..');

interface Verdict {
  readonly name: string;
  readonly feature: string;
  /** null: nobody noticed. */
  readonly caught: { readonly promise: string; readonly seed: string; readonly text: string } | null;
}

const verdicts: Verdict[] = [];
const chosen = () =>
  mutations.filter(
    ({ name, feature }) => name.includes(values.only) && feature === (values.feature ?? feature),
  );
for (const mutation of chosen()) {
  const verdict = { name: mutation.name, feature: mutation.feature, caught: await tryOut(mutation) };
  verdicts.push(verdict);
  process.stdout.write(`${row(verdict)}\n`);
}
if (values.write) writeTable(verdicts);
const survivors = verdicts.filter(({ caught }) => caught === null);
process.stdout.write(`${verdicts.length} mutations, ${survivors.length} not noticed\n`);
process.exit(survivors.length > 0 ? 1 : 0);

/** Runs the simulation on a broken copy. */
async function tryOut(mutation: Mutation): Promise<Verdict['caught']> {
  const copy = mkdtempSync(join(tmpdir(), 'orrery-mutation-'));
  try {
    for (const folder of ['src', 'test', 'scripts', 'packages', 'examples'])
      cpSync(join(root, folder), join(copy, folder), { recursive: true });
    for (const file of ['package.json', 'tsconfig.json']) cpSync(join(root, file), join(copy, file));
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    for (const change of mutation.changes) mutate(copy, mutation.name, change);
    const found = brokenIn(await run(copy, mutation.feature, values));
    if (found !== null) await checkUnbroken(mutation, found.seed);
    return found;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function brokenIn(out: string): Verdict['caught'] {
  const found = /^seed (\d+) breaks (.+?) after [\d.]+ s: (.*)$/m.exec(out);
  return found ? { seed: found[1] ?? '', promise: found[2] ?? '', text: found[3] ?? '' } : null;
}

/** @throws Error if the seed breaks a promise without the mutation */
async function checkUnbroken({ name, feature }: Mutation, seed: string): Promise<void> {
  const found = brokenIn(await run(root, feature, { from: Number(seed), seeds: 1, seconds: values.seconds }));
  if (found === null) return;
  throw new Error(`${feature}, seed ${seed}, breaks ${found.promise} without "${name}": ${found.text}`);
}

/** @throws Error if the place is not found exactly once: the mutation has to be updated */
function mutate(copy: string, name: string, { file, find, replace }: Mutation['changes'][number]): void {
  const path = join(copy, file);
  const text = readFileSync(path, 'utf8');
  const places = text.split(find).length - 1;
  if (places !== 1) throw new Error(`mutation "${name}": its place is found ${places} times in ${file}`);
  writeFileSync(
    path,
    text.replace(find, () => replace),
  );
}

type Span = Pick<typeof values, 'seeds' | 'from' | 'seconds'>;

function run(copy: string, feature: string, { seeds, from, seconds }: Span): Promise<string> {
  const span = Object.entries({ seeds, from, seconds }).flatMap(([name, of]) => [`--${name}`, `${of}`]);
  // One after the other, so that the first that notices is found.
  const args = ['scripts/sim.ts', ...span, '--feature', feature, '--as-is', '--threads', '1'];
  const child = spawn(process.execPath, args, { cwd: copy, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      // 1: a broken promise; anything but 0 and 1: the simulation could not run.
      if (code === 0 || (code === 1 && out.includes(' breaks '))) resolve(out);
      else reject(new Error(`the simulation ended with ${code}: ${err || out}`));
    });
  });
}

function row({ name, caught }: Verdict): string {
  if (caught === null) return `NOT NOTICED  ${name}`;
  return `${caught.promise.padEnd(20)} seed ${caught.seed.padStart(4)}  ${name}\n${''.padEnd(33)}${caught.text.slice(0, 160)}`;
}

/** Rows of mutations that were not tried stay as they are. */
function writeTable(found: readonly Verdict[]): void {
  const path = join(root, 'docs/simulation.md');
  const page = readFileSync(path, 'utf8');
  const head = '| what is broken | feature | found by | first seed |\n|---|---|---|---|\n';
  const [before = '', after = ''] = page.split(head);
  const end = after.indexOf('\n\n');
  const old = after.slice(0, end).split('\n');
  const rows = mutations.flatMap(({ name }) => {
    const verdict = found.find((one) => one.name === name);
    const known = old.filter((line) => line.startsWith(`| ${name} |`));
    return verdict ? [tableRow(verdict)] : known;
  });
  writeFileSync(path, `${before}${head}${rows.join('\n')}${after.slice(end)}`);
}

function tableRow({ name, feature, caught }: Verdict): string {
  return `| ${name} | ${feature} | ${caught?.promise ?? '**nobody**'} | ${caught?.seed ?? ''} |`;
}
