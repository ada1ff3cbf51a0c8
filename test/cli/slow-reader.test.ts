/**
 * Nothing that a command prints is lost to a reader that takes its time, and one that has seen enough ends it
 * quietly.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'orrery-slow-'));
const recording = join(folder, 'actors.jsonl');
const count = 20_000;
const left = /: 1 transition left out/g;

/**
 * Transitions from the middle of so many actors: the replay names each of them, in far more bytes than a pipe
 * holds.
 */
beforeAll(() => {
  const lines = Array.from({ length: count }, (_, n) =>
    JSON.stringify({
      id: `pod/shop/a-rather-long-name-of-a-pod-${n}`,
      rev: 7,
      from: 'proving.asking',
      to: 'ready.proven',
      event: { type: 'pod.recheck', at: 1, random: 0.5 },
      effects: [],
    }),
  );
  writeFileSync(recording, `${lines.join('\n')}\n`);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const replay = () =>
  spawn(process.execPath, [join(root, 'src/main.ts'), 'replay', recording], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });

test('a reader that begins late and reads in small bites gets every line', async () => {
  const child = replay();
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  let out = '';
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    out += chunk;
    // The reader does something with each bite before it takes the next.
    await new Promise(setImmediate);
  }
  expect(await ended).toBe(0);
  expect(out.match(left)).toHaveLength(count);
}, 60_000);

test('a reader that has seen enough ends the command without a word', async () => {
  const child = replay();
  let err = '';
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  const ended = new Promise<unknown>((resolve) =>
    child.once('close', (code, signal) => resolve(code ?? signal)),
  );
  child.stdout.once('data', () => child.stdout.destroy());
  expect(await ended).toBe(0);
  expect(err).toBe('');
}, 60_000);
