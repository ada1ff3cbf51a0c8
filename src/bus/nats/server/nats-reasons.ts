/** Why NATS cannot be reached, in words that say what to do. */

/** What to look at, by what the client library, Node.js or the server says. */
const advice: ReadonlyArray<readonly [RegExp, string]> = [
  [
    /authorization violation/i,
    'NATS refuses the user, the password or token in --nats, or the file of --nats-creds',
  ],
  [/authentication expired/i, 'renew the file of --nats-creds: it is read at each attempt'],
  [
    /authentication revoked/i,
    'NATS takes the credentials of --nats-creds no more: give the replica new ones',
  ],
  [
    /maximum (account active )?connections exceeded/i,
    'raise max_connections of the NATS server or of the account: each replica needs one, and one more while it is replaced',
  ],
  [/TLS required/i, 'tls:// in --nats, and --nats-ca if the authority is your own'],
  [/certificate has expired/i, 'renew the certificate of the NATS server'],
  [/expired certificate|certificate expired/i, 'renew the files of --nats-cert and --nats-key'],
  [
    /first certificate|issuer certificate|self-signed/i,
    "--nats-ca must name the authority of the NATS server's certificate",
  ],
  [
    /key values mismatch|DECODER routines|PEM routines|doesn't exist$/,
    'the files of --nats-cert, --nats-key and --nats-ca are read at each attempt: they must be there, whole, and belong together',
  ],
  [/altnames/i, "--nats must name the server as the server's certificate does"],
  [/does not support 'tls'/, 'nats:// instead of tls://, and no --nats-ca, if that is as it should be'],
  [
    /alert|bad certificate/i,
    'NATS refuses the certificate of --nats-cert, or wants one: see the log of the NATS server',
  ],
  [
    /^timeout$/,
    'a server that wants another client certificate (--nats-cert), or has no room for connections, can be as silent: see its log',
  ],
  [/undefined error/, 'a server with handshake_first must have it set to auto'],
];

/** @returns the reason, followed by what to do about it where that is known */
export function reasonOf(error: Error): string {
  // What Node.js adds is for its own command line, and what OpenSSL does for its programmers.
  const reason = error.message
    .replace(/; if the root CA is installed locally.*$/s, '')
    .replace(/^.*:SSL routines:[^:]*:([^:]+):.*$/s, '$1')
    .replace(/^error:[0-9A-F]+:([^:]+ routines):[^:]*:([^:]+)$/, '$1: $2');
  const found = advice.find(([pattern]) => pattern.test(reason));
  return found === undefined ? reason : `${reason} (${found[1]})`;
}
