/**
 * What a program needs of a system, and no more: Node.js, the C and C++ libraries that it is linked to,
 * certificate authorities, and an unprivileged user. There is no shell, no package manager, and nothing to
 * run but Node.
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fetchWithApt, versionsFile } from '../setup/apt.mjs';

const suite = 'trixie';
export const debianPackages = ['libc6', 'libgcc-s1', 'libstdc++6', 'ca-certificates'];
const byHand =
  'An image is built of Debian packages: run this where apt has a Debian mirror, or use deploy/Dockerfile.';

/** Libraries that Node.js is linked to, and those by which libc finds names. */
const libraries =
  /^(ld-linux-.*|libc|libm|libdl|libpthread|librt|libresolv|libnss_dns|libnss_files|libgcc_s|libstdc\+\+)\.so(\.\d+)*$/;

/** @typedef {{ readonly name: string, readonly version: string }} Part */

/**
 * @param {string} root of the repository
 * @param {string} target
 * @returns {Part[]} Debian packages, as the list of contents names them
 */
export function laySystem(root, target) {
  const tools = join(root, '.tools');
  const debian = join(tools, 'image-debian');
  if (!existsSync(join(debian, versionsFile)))
    fetchWithApt({
      tools,
      name: 'image-debian',
      suite,
      pkg: debianPackages.join(' '),
      withDependencies: false,
      byHand,
    });
  layLibraries(debian, target);
  layNode(root, target);
  layAuthorities(debian, target);
  layUser(target);
  const lines = readFileSync(join(debian, versionsFile), 'utf8').trim().split('\n');
  return lines.map((line) => {
    const [name = '', version = ''] = line.split('\t');
    return { name, version };
  });
}

/**
 * @param {string} debian
 * @param {string} target
 */
function layLibraries(debian, target) {
  const base = join(debian, 'usr', 'lib');
  // One folder for each architecture: x86_64-linux-gnu, aarch64-linux-gnu.
  const triplet = readdirSync(base).find((name) => name.endsWith('-linux-gnu'));
  if (triplet === undefined) throw new Error(`there are no libraries in ${base}`);
  for (const name of readdirSync(join(base, triplet)).sort()) {
    if (!libraries.test(name)) continue;
    put(join(base, triplet, name), join(target, 'usr/lib', triplet, name), 0o755);
    // Where programs expect their loader.
    if (!name.startsWith('ld-linux-')) continue;
    const loader = name.includes('x86-64') ? 'lib64' : 'lib';
    put(join(base, triplet, name), join(target, loader, name), 0o755);
  }
}

/**
 * @param {string} root
 * @param {string} target
 */
function layNode(root, target) {
  put(join(root, 'node_modules/node/bin/node'), join(target, 'usr/bin/node'), 0o755);
  const licence = join(root, 'node_modules/node/LICENSE');
  if (existsSync(licence)) put(licence, join(target, 'usr/share/doc/node/LICENSE'), 0o644);
}

/**
 * @param {string} debian
 * @param {string} target
 */
function layAuthorities(debian, target) {
  const folder = join(debian, 'usr/share/ca-certificates/mozilla');
  const bundle = readdirSync(folder)
    .sort()
    .map((name) => readFileSync(join(folder, name), 'utf8').trimEnd());
  write(join(target, 'etc/ssl/certs/ca-certificates.crt'), `${bundle.join('\n')}\n`);
  for (const name of debianPackages) {
    const copyright = join(debian, 'usr/share/doc', name, 'copyright');
    if (existsSync(copyright)) put(copyright, join(target, 'usr/share/doc', name, 'copyright'), 0o644);
  }
}

/** @param {string} target */
function layUser(target) {
  write(
    join(target, 'etc/passwd'),
    'root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n',
  );
  write(join(target, 'etc/group'), 'root:x:0:\nnonroot:x:65532:\n');
  write(join(target, 'etc/nsswitch.conf'), 'passwd: files\ngroup: files\nhosts: files dns\n');
  for (const empty of ['tmp', 'proc', 'dev', 'sys', 'run'])
    mkdirSync(join(target, empty), { recursive: true });
  chmodSync(join(target, 'tmp'), 0o1777);
}

/**
 * @param {string} source
 * @param {string} target
 * @param {number} mode
 */
function put(source, target, mode) {
  mkdirSync(dirname(target), { recursive: true });
  // Links are followed, so the image contains files.
  copyFileSync(source, target);
  chmodSync(target, mode);
}

/**
 * @param {string} target
 * @param {string} text
 */
function write(target, text) {
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text, { mode: 0o644 });
}
