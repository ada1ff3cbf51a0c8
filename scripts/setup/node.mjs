/** The Node on which the program itself runs, from npm's package `node`: the machine's own may be older. */
import { join } from 'node:path';
import { npm } from './packages.mjs';
import { isAtLeast, SetupError, say, versionOf } from './run.mjs';

/** The Kubernetes client requires it; package.json `engines` says the same. */
const least = /** @type {const} */ ([22, 19]);

/** @param {string} root */
export function ensureNode(root) {
  const node = join(root, 'node_modules', '.bin', 'node');
  if (isAtLeast(versionOf(node), least)) return;
  // An install script brings the binary; an npm that must not run scripts has left it out.
  say(`installing node into ${join(root, 'node_modules', 'node')} …`);
  npm(
    root,
    ['rebuild', 'node', '--ignore-scripts=false', '--no-audit', '--no-fund', '--loglevel=error'],
    'npm rebuild node',
  );
  if (isAtLeast(versionOf(node), least)) return;
  throw new SetupError(
    `${node} is not there or older than ${least.join('.')}: npm did not run the install script of its package "node"`,
  );
}
