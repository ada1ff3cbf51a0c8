/** How a replica or a command reaches NATS, as the flags say it and as the connection takes it. */

export interface NatsConfig {
  readonly servers: readonly string[];
  readonly credsFile: string | null;
  readonly caFile: string | null;
  readonly certFile: string | null;
  readonly keyFile: string | null;
  /** What the subjects begin with on which answers come; null: NATS' own, `_INBOX`. */
  readonly inbox: string | null;
}

/** How to reach NATS, as the connection takes it: what is not set is absent. */
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
