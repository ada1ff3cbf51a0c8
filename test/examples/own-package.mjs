/** For examples in the simulation: the package by its name is this checkout's sources. */
import { registerHooks } from 'node:module';

const entries = new Map([
  ['orrery', new URL('../../src/api/index.ts', import.meta.url).href],
  ['orrery/testing', new URL('../../packages/testing/index.ts', import.meta.url).href],
]);

registerHooks({
  resolve(specifier, context, next) {
    const url = entries.get(specifier);
    return url === undefined ? next(specifier, context) : { url, shortCircuit: true };
  },
});
