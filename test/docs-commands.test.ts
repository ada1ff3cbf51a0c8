/**
 * The commands that the pages show: each `orrery` command has the subcommand and the flags that are shown,
 * each `npm run` its script, each file that kubectl is given is there. So are those
 * that test/pages/run.test.ts cannot run.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { inThisProcess } from './cli/command.ts';

const root = join(import.meta.dirname, '..');
const pages = ['README.md', 'CONTRIBUTING.md', ...below('docs'), ...below('examples')].filter((path) =>
  path.endsWith('.md'),
);

function below(folder: string): string[] {
  const names = readdirSync(join(root, folder), { recursive: true, withFileTypes: true });
  return names.flatMap((entry) =>
    entry.isFile() && !entry.parentPath.includes('node_modules')
      ? [join(entry.parentPath, entry.name).slice(root.length + 1)]
      : [],
  );
}

interface Shown {
  readonly page: string;
  readonly line: number;
  readonly command: string;
}

/** Lines of code blocks and code within lines, without prompts, continued lines as one. */
function shownIn(page: string): Shown[] {
  const lines = readFileSync(join(root, page), 'utf8').replaceAll('\\\n', '  ').split('\n');
  let isCode = false;
  return lines.flatMap((text, index) => {
    const line = index + 1;
    if (/^\s*```/.test(text)) {
      isCode = !isCode;
      return [];
    }
    if (isCode) return [{ page, line, command: text.replace(/^\s*\$ /, '').trim() }];
    return [...text.matchAll(/`([^`]+)`/g)].map(([, command = '']) => ({ page, line, command }));
  });
}

const shown = pages.flatMap(shownIn);
const known = [
  'run',
  'dev',
  'get',
  'explain',
  'events',
  'send',
  'dead',
  'shards',
  'chart',
  'replay',
  'elect',
];
const more = [
  'health',
  'adopt',
  'token',
  'login',
  'logout',
  'open',
  'access',
  'forget',
  'new-feature',
  'help',
];
const commands = new Set([...known, ...more]);

/** `orrery get …`, also as `kubectl orrery get …`, in a pipe, or behind `elect … --`. */
function orreryCommands({ command }: Shown): string[][] {
  return [...command.matchAll(/(?:^|(?<!-n)[\s|(])orrery ((?:[^|#`;&)]|\\\|)+)/g)]
    .map(
      ([, words = '']) =>
        words
          .split(/\s-- |\s--$/)[0]
          ?.trim()
          .split(/\s+/) ?? [],
    )
    .filter(([name = '']) => /^[a-z][a-z-]*$/.test(name));
}

const helps = new Map<string, Promise<string>>();
function helpOf(words: readonly string[]): Promise<string> {
  const key = words.join(' ');
  const help = helps.get(key) ?? inThisProcess([...words, '--help']).then(({ out }) => out);
  helps.set(key, help);
  return help;
}

describe('orrery', () => {
  const used = shown.flatMap((one) => orreryCommands(one).map((words) => ({ ...one, words })));

  test('commands stand on many pages', () => expect(used.length).toBeGreaterThan(60));

  test('each that is shown is there, with the flags that are shown', async () => {
    const wrong: string[] = [];
    for (const { page, line, words } of used) {
      const [name = '', second = ''] = words;
      const place = `${page}:${line}: orrery ${words.join(' ')}`;
      // Prose after the name: "orrery run refuses …" has no code around it.
      if (!commands.has(name)) {
        wrong.push(`${place}: there is no command ${name}`);
        continue;
      }
      const isPart = ['dead', 'adopt'].includes(name) && /^[a-z]+$/.test(second);
      const help = await helpOf(isPart ? [name, second] : [name]);
      const flags = words.flatMap(
        (word) => /^\[?(--[a-z][a-z-]*|-[a-zA-Z])(?=$|[=\]|,])/.exec(word)?.[1] ?? [],
      );
      for (const flag of flags) {
        const isThere = new RegExp(`(^|[\\s,])${flag}(?![a-z-])`, 'm').test(help);
        if (!isThere) wrong.push(`${place}: no ${flag}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});

test('npm: each script that is shown is in package.json', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object };
  const wrong = shown.flatMap(({ page, line, command }) =>
    [...command.matchAll(/npm run (?:--silent )?([a-z][a-z:-]*)/g)].flatMap(([, name = '']) =>
      name in scripts ? [] : [`${page}:${line}: npm run ${name}`],
    ),
  );
  expect(wrong).toEqual([]);
});

test('kubectl: each file that is applied is there', () => {
  const wrong = shown.flatMap(({ page, line, command }) =>
    [...command.matchAll(/kubectl [^|;]*?(?:apply|create|delete|replace)[^|;]*? -[fk] +([\w./-]+)/g)].flatMap(
      ([, file = '']) =>
        file === '-' || existsSync(join(root, file)) || /^(my|your|\.)/.test(file)
          ? []
          : [`${page}:${line}: ${file}`],
    ),
  );
  expect(wrong).toEqual([]);
});
