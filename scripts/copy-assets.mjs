/**
 * Copies everything but TypeScript from src/ to the built program: pages, data files. Argument: the folder of
 * the built program.
 */
import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('../src/', import.meta.url));
const target = process.argv[2] ?? 'dist';

for (const path of readdirSync(source, { recursive: true, encoding: 'utf8' })) {
  // Only files have such an ending here, and the compiler has written the others.
  if (/\.[a-z0-9]+$/.test(path) && !path.endsWith('.ts')) cpSync(join(source, path), join(target, path));
}
