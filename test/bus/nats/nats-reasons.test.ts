/** Why NATS cannot be reached, or does not answer, in words that say what to do. */
import { expect, test } from 'vitest';
import { jetStreamApi } from '../../../src/bus/nats/jetstream-api.ts';
import { reasonOf } from '../../../src/bus/nats/server/nats-reasons.ts';
import type { WireRequests } from '../../../src/bus/nats/wire-requests.ts';

test.each([
  ['connection refused', /^connection refused$/],
  ['Authorization Violation', /^Authorization Violation \(.*--nats-creds\)$/],
  ['User Authentication Expired', /--nats-creds: it is read at each attempt\)$/],
  ['User Authentication Revoked', /--nats-creds no more: give the replica new ones\)$/],
  ['maximum connections exceeded', /\(raise max_connections /],
  ['maximum account active connections exceeded', /\(raise max_connections /],
  ['Secure Connection - TLS Required', /\(tls:\/\/ in --nats/],
  ['certificate has expired', /\(renew the certificate of the NATS server\)$/],
  [
    'unable to verify the first certificate; if the root CA is installed locally, try running Node.js with --use-system-ca',
    /^unable to verify the first certificate \(--nats-ca must name the authority/,
  ],
  [
    "Hostname/IP does not match certificate's altnames: IP: 10.0.0.5 is not in the cert's list: ",
    /\(--nats must name the server as/,
  ],
  [
    '403DA73FD27F0000:error:0A000418:SSL routines:ssl3_read_bytes:tlsv1 alert unknown ca:../deps/openssl/rec_layer_s3.c:918:SSL alert number 48\n',
    /^tlsv1 alert unknown ca \(NATS refuses the certificate of --nats-cert, or wants one/,
  ],
  [
    '1:error:0A000415:SSL routines:ssl3_read_bytes:sslv3 alert certificate expired:../x.c:918:SSL alert number 45',
    /^sslv3 alert certificate expired \(renew the files of --nats-cert and --nats-key\)$/,
  ],
  [
    'error:05800074:x509 certificate routines::key values mismatch',
    /^x509 certificate routines: key values mismatch \(the files of --nats-cert, --nats-key and --nats-ca are read at each attempt/,
  ],
  ['error:1E08010C:DECODER routines::unsupported', /^DECODER routines: unsupported \(the files/],
  ["/etc/nats/ca.crt doesn't exist", /^\/etc\/nats\/ca.crt doesn't exist \(the files/],
  ['timeout', /^timeout \(.*--nats-cert/],
])('%j', (said, told) => expect(reasonOf(new Error(said))).toMatch(told));

test('a stream for which nobody answers: the servers that keep it are to be started', async () => {
  const send: WireRequests['send'] = (_subject, _data, _sending, { onFailure }) => onFailure('timeout');
  const api = jetStreamApi({ waiting: 0, send });
  await expect(api('STREAM.INFO.ORRERY_a_STATE')).rejects.toThrow(
    /STREAM\.INFO\.ORRERY_a_STATE: timeout \(if it lasts: the NATS servers that keep this stream are away/,
  );
  await expect(api('STREAM.NAMES')).rejects.toThrow(/STREAM\.NAMES: timeout$/);
});
