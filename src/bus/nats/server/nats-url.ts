/**
 * The address of a NATS server as people write it: `nats://user:password@host:port`, `tls://…`, or
 * `host:port` alone.
 */
import { attempt, OrreryError } from '../../../base/errors.ts';

export interface ServerUrl {
  readonly server: string;
  /** Without port and brackets. */
  readonly host: string;
  readonly isTls: boolean;
  readonly user: string | undefined;
  readonly pass: string | undefined;
}

/** @throws OrreryError USAGE */
export function parseServer(text: string): ServerUrl {
  const [, scheme = 'nats', login = '', server = ''] =
    /^(?:([a-z]+):\/\/)?(?:(.*)@)?([^@]+?)\/?$/.exec(text) ?? [];
  if (server === '' || !['nats', 'tls'].includes(scheme)) {
    throw new OrreryError(
      'USAGE',
      `"${withoutPasswords(text)}" is not a NATS server: nats://host:port or tls://host:port`,
    );
  }
  // A password may contain ":". One that was not percent-encoded is taken literally.
  const [, user = '', pass] = (/^([^:]*)(?::(.*))?$/s.exec(login) ?? []).map((part?: string) =>
    attempt(() => part && decodeURIComponent(part), part),
  );
  return { server, host: hostOf(server), isTls: scheme === 'tls', user: user || undefined, pass };
}

/** Of `host:port`, `[::1]:4222` or a host alone. */
function hostOf(server: string): string {
  const [, bracketed, plain = server] = /^(?:\[(.*)\]|([^:]*))(?::\d+)?$/.exec(server) ?? [];
  return bracketed ?? plain;
}

/** The same addresses, separated by commas, without what stands before "@", for people (I9). */
export function withoutPasswords(servers: string): string {
  return servers.replaceAll(/(^|,)(\s*[a-z]+:\/\/)?(?:(?!,\s*[a-z]+:\/\/).)*@/gs, '$1$2…@');
}
