/** How a replica or a command reaches NATS: converts the flags to the connection's parameters. */

export interface NatsConfig {
  readonly servers: readonly string[];
  readonly credsFile: string | null;
  readonly caFile: string | null;
  readonly certFile: string | null;
  readonly keyFile: string | null;
  /** The prefix of subjects for answers; null: NATS' default, `_INBOX`. */
  readonly inbox: string | null;
}

/** The connection's parameters; unset ones are absent. */
export function natsAccess({ servers, credsFile, caFile, certFile, keyFile, inbox }: NatsConfig) {
  const tls = {
    ...(caFile === null ? {} : { caFile }),
    ...(certFile === null ? {} : { certFile }),
    ...(keyFile === null ? {} : { keyFile }),
  };
  return {
    servers,
    ...(credsFile === null ? {} : { credsFile }),
    ...(inbox === null ? {} : { inboxPrefix: inbox }),
    ...(Object.keys(tls).length === 0 ? {} : { tls }),
  };
}
