/**
 * Where a program keeps its compiled code, known to the program itself and to whoever starts it. Pure.
 */
import { dirname, join } from 'node:path';

/**
 * In node_modules/.cache of a checkout, or beside a build.
 *
 * @param program its file; in a checkout one in a folder of the root
 */
export const compiledOf = (program: string): string =>
  join(dirname(program), program.endsWith('.ts') ? '../node_modules/.cache/orrery' : 'compiled');
