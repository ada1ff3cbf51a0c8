/**
 * Follows a page word for word: writes its files and runs its commands in an empty folder.
 *
 * What the reader should have is there: a package as a file, a NATS server, a Kubernetes API, kubectl.
 * Without a registry, `npm install` of that file unpacks it and takes its dependencies from this checkout.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface Block {
  /** `sh`, or the path of a file. */
  readonly what: string;
  readonly text: string;
}

/** Commands and files of a page, in order; other blocks are for reading. */
export function blocksOf(page: string): readonly Block[] {
  return [...page.matchAll(/^```(sh|ts (\S+))\n([\s\S]*?)^```$/gm)].map(([, kind = '', path, text = '']) => ({
    what: path ?? kind,
    text,
  }));
}

export interface Desk {
  readonly folder: string;
  /** Of this checkout. */
  readonly root: string;
  /** Path of the packed package. */
  readonly tarball: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Follows the page to its end.
 * @returns what was printed, and how the commands ended
 */
export async function follow(
  blocks: readonly Block[],
  desk: Desk,
): Promise<{ readonly code: number | null; readonly said: string }> {
  const { folder, root, env } = desk;
  const tools = join(folder, '.tools');
  mkdirSync(tools);
  writeFileSync(join(tools, 'npm'), npmWithoutRegistry(desk));
  chmodSync(join(tools, 'npm'), 0o755);
  // Files exist before the first command: a page shows them before it uses them.
  const script = blocks.map(({ what, text }) => (what === 'sh' ? text : written(what, text))).join('\n');
  const path = `${tools}:${join(root, 'node_modules/.bin')}:${process.env.PATH}`;
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: folder,
    env: { ...env, PATH: path, HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
    // What it started in the background is ended with it, as when the reader closes the window.
    detached: true,
    // Ends whoever waits for what never comes.
    timeout: 100_000,
  });
  let said = '';
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (piece) => (said += piece));
  const closed = once(shell, 'close');
  const [code] = (await once(shell, 'exit')) as [number | null];
  if (shell.pid !== undefined) endGroup(shell.pid);
  await closed;
  return { code, said };
}

function endGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // Nothing was left of it.
  }
}

function written(path: string, text: string): string {
  return `mkdir -p ${dirname(path)}\ncat > ${path} <<'END OF FILE'\n${text}END OF FILE\n`;
}

function npmWithoutRegistry({ root, tarball }: Desk): string {
  return `#!/usr/bin/env bash
set -eu
if [ "$1" != install ]; then PATH=\${PATH#*:} exec npm "$@"; fi
test "$(basename "$2")" = "$(basename '${tarball}')"
mkdir -p node_modules/.bin node_modules/orrery
tar -xzf '${tarball}' --strip-components=1 -C node_modules/orrery
for name in xstate valibot; do ln -s '${root}/node_modules/'$name node_modules/$name; done
ln -s ../orrery/dist/main.js node_modules/.bin/orrery
chmod +x node_modules/orrery/dist/main.js
`;
}

/**
 * Packs a built program as npm does.
 * @returns the file
 */
export function packed(built: string, into: string): string {
  const [{ filename }] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', into], {
      cwd: built,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  ) as [{ filename: string }];
  return join(into, filename);
}

export const pageOf = (root: string) =>
  readFileSync(join(root, 'docs/guides/operator-in-100-lines.md'), 'utf8');
