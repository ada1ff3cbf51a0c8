/**
 * Compiles the built program before its first start, for an image whose files cannot be written later.
 * Argument: the folder of the built program. Node uses compiled code only for the user who compiled it, with
 * the same version of Node and at the same path.
 */
import { enableCompileCache } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const target = resolve(process.argv[2] ?? 'dist');
enableCompileCache(join(target, 'compiled'));
for (const part of ['program.js', 'terminal.js', 'replica.js', 'page-files.js'])
  await import(pathToFileURL(join(target, part)).href);
// Nobody needs what is still open.
process.exit(0);
