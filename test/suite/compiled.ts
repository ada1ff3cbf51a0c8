import { resolve } from 'node:path';

/** Where the program keeps compiled sources (src/main.ts): only the first process that needs one does it. */
export const compiled = resolve(import.meta.dirname, '../../node_modules/.cache/orrery');
