/**
 * CAs as openssl makes them: other keys, other identifiers, an intermediate; and openssl's own verdict on
 * what they signed.
 */
import { execFileSync } from 'node:child_process';
import { createHash, createPublicKey, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface OpensslAuthority {
  /** The chain and the key as in the CA's Secret. */
  readonly chain: string;
  readonly key: string;
  /** What verifiers trust. */
  readonly root: string;
}

/** `openssl genpkey` arguments by the name of the key. */
const keys = {
  rsa: ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048'],
  p256: ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  p384: ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-384'],
  ed25519: ['-algorithm', 'ED25519'],
} as const;

export type KeySort = keyof typeof keys;
/**
 * `sha1`: RFC 5280's first method; `sha256`: truncated, as in Go since 1.25 (RFC 7093); `none`: the CA has no
 * identifier.
 */
export type Identifier = 'sha1' | 'sha256' | 'none';

export class Openssl {
  readonly #dir = mkdtempSync(join(tmpdir(), 'orrery-openssl-'));

  stop(): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }

  /** A self-signed root. @param lines of its extensions, in the place of a CA's usual ones */
  root(sort: KeySort, identifier: Identifier, lines?: readonly string[]): OpensslAuthority {
    const key = this.#key('root', sort);
    const extensions = this.#extensions('root', key, identifier, lines);
    this.#run(
      'req',
      '-x509',
      '-new',
      '-key',
      this.#at('root.key'),
      '-config',
      extensions,
      '-days',
      '100',
      ...digest(sort),
      '-out',
      this.#at('root.pem'),
    );
    const root = this.#read('root.pem');
    return { chain: root, key, root };
  }

  /** An intermediate under a root; the root is not part of its chain. */
  intermediate(sort: KeySort, identifier: Identifier): OpensslAuthority {
    const { root } = this.root('p256', identifier);
    const key = this.#key('middle', sort);
    const extensions = this.#extensions('middle', key, identifier);
    this.#run(
      'req',
      '-new',
      '-key',
      this.#at('middle.key'),
      '-config',
      extensions,
      ...digest(sort),
      '-out',
      this.#at('middle.csr'),
    );
    const by = ['-CA', this.#at('root.pem'), '-CAkey', this.#at('root.key'), '-CAcreateserial'];
    this.#run(
      'x509',
      '-req',
      '-in',
      this.#at('middle.csr'),
      ...by,
      '-days',
      '50',
      '-extfile',
      extensions,
      '-extensions',
      'ext',
      '-out',
      this.#at('middle.pem'),
    );
    return { chain: this.#read('middle.pem'), key, root };
  }

  /** What `openssl verify` says about a chain; throws its words if it does not verify. */
  verify(chain: string, root: string, host: string, options: readonly string[]): string {
    const certificates = chain.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
    const [leaf = '', ...others] = certificates;
    writeFileSync(this.#at('trusted.pem'), root);
    writeFileSync(this.#at('leaf.pem'), leaf);
    writeFileSync(this.#at('others.pem'), others.join('\n'));
    const untrusted = others.length === 0 ? [] : ['-untrusted', this.#at('others.pem')];
    const trusted = ['-CAfile', this.#at('trusted.pem'), '-no-CApath', '-no-CAstore'];
    return this.#run(
      'verify',
      ...options,
      ...trusted,
      ...untrusted,
      '-purpose',
      'sslserver',
      '-verify_hostname',
      host,
      this.#at('leaf.pem'),
    );
  }

  /** A certificate as openssl prints it. */
  text(chain: string): string {
    writeFileSync(this.#at('shown.pem'), chain);
    return this.#run('x509', '-in', this.#at('shown.pem'), '-noout', '-text');
  }

  /** The same key, encrypted. */
  encrypted(key: string): string {
    writeFileSync(this.#at('plain.key'), key);
    return this.#run('pkcs8', '-topk8', '-in', this.#at('plain.key'), '-passout', 'pass:secret');
  }

  #key(name: string, sort: KeySort): string {
    this.#run('genpkey', ...keys[sort], '-out', this.#at(`${name}.key`));
    return this.#read(`${name}.key`);
  }

  #extensions(
    name: string,
    key: string,
    identifier: Identifier,
    own = [
      'basicConstraints = critical,CA:true',
      'keyUsage = critical,keyCertSign,cRLSign',
    ] as readonly string[],
  ): string {
    const lines = [
      '[req]',
      'distinguished_name = dn',
      'x509_extensions = ext',
      'prompt = no',
      '[dn]',
      `O = Orrery tests`,
      `CN = ${name} of ${identifier}`,
      '[ext]',
      ...own,
      `subjectKeyIdentifier = ${identifierOf(key, identifier)}`,
      ...(name === 'middle' && identifier !== 'none' ? ['authorityKeyIdentifier = keyid:always'] : []),
    ];
    writeFileSync(this.#at(`${name}.cnf`), lines.join('\n'));
    return this.#at(`${name}.cnf`);
  }

  #run(...args: readonly string[]): string {
    return execFileSync('openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  }

  #read(name: string): string {
    return readFileSync(this.#at(name), 'utf8');
  }

  #at(name: string): string {
    return join(this.#dir, name);
  }
}

const digest = (sort: KeySort) => (sort === 'ed25519' ? [] : ['-sha256']);

function identifierOf(key: string, identifier: Identifier): string {
  if (identifier === 'none') return 'none';
  if (identifier === 'sha1') return 'hash';
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(spki).digest('hex').slice(0, 40);
}

/** Node's verdict: each certificate was signed by the next, the last by the root. */
export function isSignedUpTo(chain: string, root: string): boolean {
  const certificates = (
    chain.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? []
  ).map((pem) => new X509Certificate(pem));
  const links = [...certificates, new X509Certificate(root)];
  return links.slice(0, -1).every((one, index) => {
    const by = links[index + 1];
    return (
      by !== undefined &&
      (one.checkIssued(by) || one.fingerprint256 === by.fingerprint256) &&
      one.verify(by.publicKey)
    );
  });
}
