import { resolve } from 'node:path';
import { compiledOf } from '../../src/base/program/compiled.ts';

/** Where the program keeps compiled sources: only the first process that needs one does it. */
export const compiled = compiledOf(resolve(import.meta.dirname, '../../src/main.ts'));
