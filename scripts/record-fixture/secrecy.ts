/**
 * Checks that no message contains a Secret's contents: many people may read records, the world, mail and the
 * feed.
 */
import { type KubePort, type StoredMessage, secrets } from '../roll-over/product.ts';

/** In PEM, and in base64 of PEM. */
const marks = ['PRIVATE KEY-----', 'UFJJVkFURSBLRV', 'BSSVZBVEUgS0VZ', 'QUklWQVRFIEtFW'];
/** Certificates are public. */
const publicFields = ['tls.crt', 'ca.crt'];
/** Shorter pieces could occur anywhere by chance. */
const shortest = 20;

/**
 * Words that no message may contain.
 * @param kube absent: only the marks of private keys are known
 */
export async function secretWords(kube: KubePort | undefined): Promise<string[]> {
  if (kube === undefined) return marks;
  const { items } = await kube.list(secrets, {}, new AbortController().signal);
  const values = items.flatMap(({ data }) =>
    Object.entries((data ?? {}) as Record<string, string>)
      .filter(([field]) => !publicFields.includes(field))
      .flatMap(([, value]) => [value, Buffer.from(value, 'base64').toString('utf8')]),
  );
  return [...marks, ...values.flatMap(piecesOf)];
}

/**
 * A value may be stored without its line breaks, or be JSON, so each long piece counts. The words of PEM's
 * first line are not secret.
 */
function piecesOf(value: string): string[] {
  return value
    .replace(/-----[A-Z ]+-----/g, '')
    .split(/[^\w+/=-]+/)
    .filter((piece) => piece.length >= shortest);
}

/** Subjects of messages that contain one of the words. */
export function leaks(messages: Iterable<StoredMessage>, words: readonly string[]): string[] {
  const found: string[] = [];
  for (const { subject, data, sequence } of messages) {
    const bytes = Buffer.from(data);
    if (words.some((word) => bytes.includes(word))) found.push(`${subject} at ${sequence}`);
  }
  return found;
}
