/**
 * Builds the image of Orrery from nothing: `npm run image`, with another name for it as the optional
 * argument. The result is an OCI layout in build/image, with the list of its contents beside it.
 *
 * Needs no daemon, no base image and no rights: Node.js comes from npm, the libraries from Debian's packages,
 * and buildah puts them together. Promises: the same commit with the same packages gives the same bytes (the
 * time in it is the commit's, or SOURCE_DATE_EPOCH). Nothing runs while it is built.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { contentsOf } from './image/contents.mjs';
import { layProgram } from './image/program.mjs';
import { laySystem } from './image/system.mjs';
import { ensureBuildah } from './setup/buildah.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const work = join(root, 'build/image');
const stage = join(work, 'root');
const { version: release } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const name = process.argv[2] ?? `orrery:${release}`;

const git = (/** @type {string[]} */ ...args) =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
const epoch = process.env.SOURCE_DATE_EPOCH ?? git('log', '-1', '--format=%ct');
const created = new Date(Number(epoch) * 1000).toISOString().replace('.000Z', 'Z');

rmSync(work, { recursive: true, force: true });
mkdirSync(stage, { recursive: true });
const built = join(work, 'built');
execFileSync(process.execPath, [join(root, 'scripts/build.mjs'), built], { cwd: root, stdio: 'inherit' });
layProgram(built, join(stage, 'orrery'));
rmSync(built, { recursive: true });
const debian = laySystem(root, stage);
const node = execFileSync(join(stage, 'usr/bin/node'), ['--version'], { encoding: 'utf8' }).trim().slice(1);
const contents = contentsOf({ program: join(stage, 'orrery'), debian, node, release, created });
const list = `${JSON.stringify(contents, null, 2)}\n`;
mkdirSync(join(stage, 'usr/share/sbom'), { recursive: true });
for (const file of [join(stage, 'usr/share/sbom/orrery.spdx.json'), join(work, 'orrery.spdx.json')])
  writeFileSync(file, list);

const { program, env } = ensureBuildah(root, process.env);
const store = ['--root', join(work, 'store'), '--runroot', join(work, 'run'), '--storage-driver', 'vfs'];
const policy = join(work, 'policy.json');
writeFileSync(policy, '{"default":[{"type":"insecureAcceptAnything"}]}');
const buildah = (/** @type {string[]} */ ...args) =>
  execFileSync(program, [...store, ...args], {
    env,
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });

buildah(
  ...['build', '--isolation', 'chroot', '--signature-policy', policy, '--layers=false', '--timestamp', epoch],
  ...['--label', `org.opencontainers.image.version=${release}`],
  ...['--label', `org.opencontainers.image.revision=${git('rev-parse', 'HEAD')}`],
  ...['--label', `org.opencontainers.image.created=${created}`],
  ...['--tag', name, '--file', join(root, 'deploy/image/Containerfile'), stage],
);
buildah('push', '--signature-policy', policy, name, `oci:${join(work, 'oci')}:${release}`);
const digest = JSON.parse(readFileSync(join(work, 'oci/index.json'), 'utf8')).manifests[0].digest;
writeFileSync(join(work, 'digest'), `${digest}\n`);
process.stdout.write(
  `${name} ${digest}\nbuild/image/oci: the image; build/image/orrery.spdx.json: what is in it\n`,
);
