/**
 * The package as others install it: the program, the types, `orrery/testing`. The run builds it once, before
 * its first file begins (program.ts): the compiler and the bundler take ten seconds for it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageVariable, saidFile } from './program.ts';

const { [packageVariable]: folder } = process.env;

/**
 * Holds package.json and dist/. Others use it at the same time: nobody writes there but Node, which keeps
 * compiled code in dist/compiled.
 */
export function builtPackage(): string {
  if (folder === undefined) throw new Error(`no run has built the package: ${packageVariable} is not set`);
  return folder;
}

/** What building it printed. */
export const saidInBuilding = () => readFileSync(join(builtPackage(), saidFile), 'utf8');
