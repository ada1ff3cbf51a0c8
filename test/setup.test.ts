/** The set-up scripts: what is missing is found, and the machine's own mirror is read from its files. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { complete, missingOptional } from '../scripts/complete-lock.mjs';
import { archiveOf, renderSource } from '../scripts/setup/apt-sources.mjs';
import { buildFor, check, fetchRelease } from '../scripts/setup/nats-release.mjs';
import { firstDifference } from '../scripts/setup/packages.mjs';

const root = join(import.meta.dirname, '..');

describe('the mirror is the one of the machine', () => {
  const debian = 'ID=debian\nVERSION_CODENAME=bookworm\n';
  const read = (name: string, text: string, osRelease = debian) =>
    archiveOf(new Map([[name, text]]), osRelease);

  test('from a deb822 file: the main archive, not the security updates and not other vendors', () => {
    const text = `Types: deb
URIs: https://vendor.example/node
Suites: nodistro
Components: main

Types: deb-src
URIs: http://mirror.example/source
Suites: bookworm
Components: main

Types: deb
# a comment inside
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /keys/debian.gpg
`;
    expect(read('debian.sources', text)).toEqual({
      uri: 'http://mirror.example/debian',
      signedBy: '/keys/debian.gpg',
    });
  });

  test('from one line, with and without options', () => {
    expect(read('sources.list', '# old\ndeb http://a.example/debian bookworm main # x\n')).toEqual({
      uri: 'http://a.example/debian',
      signedBy: '',
    });
    const line = 'deb [arch=amd64 signed-by=/k.gpg] http://b.example/debian/ stable main contrib';
    expect(read('a.list', line)).toEqual({ uri: 'http://b.example/debian/', signedBy: '/k.gpg' });
  });

  test('a stanza that is switched off, a CD, and another distribution give none', () => {
    const off = 'Types: deb\nURIs: http://a.example\nSuites: bookworm\nComponents: main\nEnabled: no\n';
    expect(read('a.sources', off)).toBeUndefined();
    expect(read('a.list', 'deb cdrom:[Debian]/ bookworm main')).toBeUndefined();
    expect(read('a.list', 'deb http://a.example noble main', 'ID=ubuntu\n')).toBeUndefined();
  });

  test('a key that stands in the file itself is taken over', () => {
    const key = ' -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQINBF\n -----END PGP PUBLIC KEY BLOCK-----';
    const text = `Types: deb\nURIs: http://a.example\nSuites: bookworm\nComponents: main\nSigned-By:\n${key}\n`;
    const archive = read('a.sources', text);
    expect(archive?.signedBy).toContain('mQINBF');
    expect(renderSource(archive ?? { uri: '', signedBy: '' }, 'next')).toContain(`Signed-By: \n${key}`);
  });
});

describe('packages', () => {
  const lock = (packages: Record<string, { version?: string; optional?: boolean }>) => ({ packages });
  const wanted = lock({
    '': {},
    'node_modules/a': { version: '1.0.0' },
    'node_modules/b': { version: '2.0.0', optional: true },
  });

  test('are installed when one is missing or another version, not for one that is optional', () => {
    expect(firstDifference(wanted, undefined)).toBe('nothing is installed yet');
    expect(firstDifference(wanted, lock({}))).toBe('a: missing → 1.0.0');
    expect(firstDifference(wanted, lock({ 'node_modules/a': { version: '0.9.0' } }))).toBe(
      'a: 0.9.0 → 1.0.0',
    );
    expect(firstDifference(wanted, lock({ 'node_modules/a': { version: '1.0.0' } }))).toBeUndefined();
  });

  test('without a network the installation ends within seconds, with the reason', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'orrery-packages-'));
    const packages = { '': { dependencies: { a: '1.0.0' } }, 'node_modules/a': { version: '1.0.0' } };
    writeFileSync(join(dir, 'package.json'), JSON.stringify({ dependencies: { a: '1.0.0' } }));
    writeFileSync(join(dir, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages }));
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const env = {
      ...process.env,
      npm_config_registry: `http://127.0.0.1:${port}/`,
      npm_config_cache: join(dir, 'cache'),
    };
    const script = `import { ensurePackages } from ${JSON.stringify(join(root, 'scripts/setup/packages.mjs'))}; ensurePackages(${JSON.stringify(dir)})`;
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      env,
      encoding: 'utf8',
      timeout: 40_000,
    });
    rmSync(dir, { recursive: true, force: true });
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/npm ci: [\s\S]*ECONNREFUSED[\s\S]*\nsetup: the network could not be reached\./),
    ]);
  });

  test('builds for other platforms that a mirror left out are added to the lock, each with its platform', () => {
    const partial = {
      packages: {
        'node_modules/tool': {
          dev: true,
          optionalDependencies: { '@tool/linux-x64-musl': '1.2.3', '@tool/darwin-arm64': '1.2.3' },
        },
        'node_modules/@tool/darwin-arm64': { version: '1.2.3' },
      },
    };
    expect([...missingOptional(partial).keys()]).toEqual(['@tool/linux-x64-musl']);
    expect(complete(partial).packages['node_modules/@tool/linux-x64-musl']).toEqual({
      version: '1.2.3',
      os: ['linux'],
      cpu: ['x64'],
      libc: ['musl'],
      dev: true,
      optional: true,
    });
  });
});

describe('nats-server', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'orrery-setup-'));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  const setUp = (env: Record<string, string>) => {
    const script = `import { ensureNatsServer } from ${JSON.stringify(join(root, 'scripts/setup/nats-server.mjs'))};
      ensureNatsServer(${JSON.stringify(dir)}, process.env);`;
    const result = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      env,
      encoding: 'utf8',
    });
    return { status: result.status, said: result.stdout + result.stderr };
  };
  const fakeServer = (folder: string, version: string) => {
    mkdirSync(join(dir, folder), { recursive: true });
    const file = join(dir, folder, 'nats-server');
    writeFileSync(file, `#!/bin/sh\necho nats-server: v${version}\n`);
    chmodSync(file, 0o755);
    return file;
  };

  test('the one that NATS_SERVER names must be new enough', () => {
    expect(setUp({ NATS_SERVER: fakeServer('a', '2.12.0') })).toEqual({ status: 0, said: '' });
    const { status, said } = setUp({ NATS_SERVER: fakeServer('b', '2.11.9') });
    expect(status).toBe(1);
    expect(said).toContain('is no nats-server of version 2.12 or newer');
  });

  test('one on the PATH, or one fetched before, is taken silently', () => {
    fakeServer('bin', '3.0.0');
    expect(setUp({ PATH: join(dir, 'bin') })).toEqual({ status: 0, said: '' });
    fakeServer('.tools/nats/usr/sbin', '2.12.1');
    expect(setUp({ PATH: '' })).toEqual({ status: 0, said: '' });
  });

  test('elsewhere than on Debian the official build is fetched, and taken only if it is the one that was released', () => {
    expect(buildFor('darwin', 'arm64')?.url).toMatch(/^https:\/\/.*-darwin-arm64\.tar\.gz$/);
    expect(buildFor('linux', 'x64')?.name).toContain('linux-amd64');
    expect(buildFor('win32', 'x64')).toBeUndefined();
    const archive = join(dir, 'archive');
    writeFileSync(archive, 'planted');
    expect(() => check(archive, '0'.repeat(64))).toThrow(
      /not the one that was released: its SHA-256 is [0-9a-f]{64}, not 0+$/,
    );
    expect(() => check(archive, createHash('sha256').update('planted').digest('hex'))).not.toThrow();
  });

  test('without a network the set-up ends at once, with the reason and what to do', () => {
    const curl = join(dir, 'curl');
    writeFileSync(curl, '#!/bin/sh\necho "curl: (6) Could not resolve host" >&2\nexit 6\n');
    chmodSync(curl, 0o755);
    const file = join(dir, '.tools/nats/nats-server');
    const fetching = () =>
      fetchRelease({
        file,
        env: { PATH: `${dir}:${process.env.PATH}` },
        byHand: 'install it',
        platform: 'linux',
        arch: 'x64',
      });
    expect(fetching).toThrow(/Could not resolve host[\s\S]*setup: install it$/);
    expect(existsSync(file)).toBe(false);
  });
});
