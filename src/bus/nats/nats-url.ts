/**
 * The address of a NATS server as people write it: `nats://user:password@host:port`, `tls://…`, or
 * `host:port` alone.
 */
import { attempt, OrreryError } from '../../base/errors.ts';

export interface ServerUrl {
  readonly server: string;
  readonly isTls: boolean;
  readonly user: string | undefined;
  readonly pass: string | undefined;
}

/** @throws OrreryError USAGE */
export function parseServer(text: string): ServerUrl {
  const [, scheme = 'nats', login, server = ''] =
    /^(?:([a-z]+):\/\/)?(?:(.*)@)?([^@]+?)\/?$/.exec(text) ?? [];
  if (server === '' || !['nats', 'tls'].includes(scheme)) {
    throw new OrreryError(
      'USAGE',
      `"${withoutPassword(text)}" is not a NATS server: nats://host:port or tls://host:port`,
    );
  }
  // A password that was not percent-encoded is taken literally.
  const [user, pass] = (login ?? '')
    .split(':', 2)
    .map((text) => attempt(() => decodeURIComponent(text), text));
  return { server, isTls: scheme === 'tls', user: user || undefined, pass };
}

/** The same address without the password, for the log (I9). */
export function withoutPassword(server: string): string {
  return server.replace(/^([a-z]+:\/\/)?.*@/, '$1…@');
}
