/**
 * What a CA's certificate says about it, and what its chain lets it sign (RFC 5280 4.2.1): read in place from
 * DER, in the original encoding. Pure.
 */
import { childrenOf, context, dersOf, oids, tags } from './der.ts';

/** DNS subtrees of one certificate's name constraints, in lower case. */
interface NameConstraints {
  readonly permitted: readonly string[];
  readonly excluded: readonly string[];
}

interface AuthorityReading {
  readonly subject: Buffer;
  /** Absent: the CA has none. */
  readonly keyId: Buffer | undefined;
  /** Of every certificate in the chain. */
  readonly constraints: readonly NameConstraints[];
  /** Why verifiers would reject what it signs; null: they would not. */
  readonly flaw: string | null;
}

export function readAuthority(chainPem: string): AuthorityReading {
  const chain = dersOf(chainPem).map(readCertificate);
  const [{ subject, extension } = readCertificate(undefined)] = chain;
  return {
    subject: subject?.whole ?? Buffer.alloc(0),
    keyId: extension(oids.subjectKeyIdentifier)?.content,
    constraints: chain.map((one) => constraintsIn(one.extension(oids.nameConstraints)?.content)),
    flaw: flawIn(subject?.content, extension),
  };
}

type Extension = ReturnType<typeof readCertificate>['extension'];

function flawIn(subject: Buffer | undefined, extension: Extension): string | null {
  if (subject === undefined) return 'its certificate cannot be read';
  if (subject.byteLength === 0) return 'its certificate has no subject';
  const [isCa] = childrenOf(extension(oids.basicConstraints)?.content);
  if (isCa?.tag !== tags.boolean || isCa.content[0] === 0) return 'its certificate is not a CA certificate';
  // keyCertSign, the sixth bit; without the extension every use is allowed.
  const usage = extension(oids.keyUsage)?.content;
  if (usage !== undefined && ((usage[1] ?? 0) & 0x04) === 0)
    return 'its certificate may not sign others (key usage)';
  const purposes = extension(oids.extendedKeyUsage)?.content;
  if (purposes === undefined) return null;
  const isForServers = childrenOf(purposes).some(({ whole }) =>
    [oids.serverAuth, oids.anyPurpose].some((purpose) => purpose.equals(whole)),
  );
  return isForServers ? null : 'its certificate may not sign for servers (extended key usage)';
}

/** Whether a verifier that follows RFC 5280 4.2.1.10 accepts the host. @param host in lower case */
export function isUnderConstraints(host: string, constraints: readonly NameConstraints[]): boolean {
  const isIn = (subtree: string) =>
    subtree === '' || host === subtree || host.endsWith(subtree.startsWith('.') ? subtree : `.${subtree}`);
  return constraints.every(
    ({ permitted, excluded }) => (permitted.length === 0 || permitted.some(isIn)) && !excluded.some(isIn),
  );
}

function constraintsIn(content: Buffer | undefined): NameConstraints {
  const subtrees = (n: number) =>
    childrenOf(childrenOf(content).find(({ tag }) => tag === context(n, true))?.content).flatMap(
      (subtree) => {
        const [base] = childrenOf(subtree.content);
        return base?.tag === context(2) ? [base.content.toString('latin1').toLowerCase()] : [];
      },
    );
  return { permitted: subtrees(0), excluded: subtrees(1) };
}

/** The subject, and the extensions by their identifier. */
function readCertificate(der: Buffer | undefined) {
  const [certificate] = childrenOf(der);
  const [body] = childrenOf(certificate?.content);
  const fields = childrenOf(body?.content);
  const list = fields.find(({ tag }) => tag === context(3, true))?.content;
  const extensions = childrenOf(childrenOf(list)[0]?.content).map(({ content }) => childrenOf(content));
  return {
    // The sequences are: algorithm, issuer, validity, subject, key.
    subject: fields.filter(({ tag }) => tag === tags.sequence)[3],
    extension(id: Buffer) {
      const found = extensions.find(([name]) => name?.whole.equals(id));
      return childrenOf(found?.find(({ tag }) => tag === tags.octets)?.content)[0];
    },
  };
}
