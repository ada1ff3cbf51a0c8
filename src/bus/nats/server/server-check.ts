/** Whether a server will do: its version and its limits, at the first connection and after each reconnect. */
import { asError, OrreryError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import type { Log } from '../../../base/log-port.ts';
import type { BusStatus } from '../../bus.ts';
import type { Wire } from '../wire.ts';
import { withoutPasswords } from './nats-url.ts';
import { checkServerVersion } from './nats-version.ts';

interface Needs {
  readonly servers: readonly string[];
  /** Absent: the client only requests and watches. */
  readonly streamReplicas?: number;
}

type Server = Pick<Wire, 'serverVersion' | 'isClustered' | 'maxPayload'>;

/** The size of a saved record with its headers; clients that only ask send less. */
const payloadMin = limits.recordBytes + 16 * 1024;

/** @throws OrreryError BUS_VERSION | BUS_REFUSED (max_payload is too small) */
export function checkServer(server: Server, needs: Needs): void {
  checkVersion(server, needs);
  checkPayload(server, needs);
}

function checkVersion({ serverVersion, isClustered }: Server, { streamReplicas = 1 }: Needs): void {
  checkServerVersion(serverVersion, isClustered || streamReplicas > 1);
}

function checkPayload({ maxPayload }: Server, { streamReplicas }: Needs): void {
  if (streamReplicas === undefined || maxPayload >= payloadMin) return;
  const facts = { maxPayload, needed: payloadMin };
  const text = `NATS takes messages of ${maxPayload} bytes (max_payload), ${payloadMin} are needed: records of actors are up to ${limits.recordBytes}`;
  throw new OrreryError('BUS_REFUSED', text, { facts });
}

/**
 * During the upgrade of a NATS cluster, a server may be too old, or configured otherwise. Refusing it now
 * would break what still works, so it is logged.
 */
export function onReconnect(status: BusStatus, server: Server, needs: Needs, log: Log): void {
  if (status === 'disconnected')
    log.warn({ servers: needs.servers.map(withoutPasswords) }, 'NATS connection lost');
  if (status !== 'connected') return;
  log.info({ version: server.serverVersion }, 'NATS connection is back');
  logged(log, tooOld, () => checkVersion(server, needs));
  logged(log, takesLess, () => checkPayload(server, needs));
}

const tooOld =
  'connected to a NATS server that is too old: saves may fail or overwrite each other there, and a replica that starts is refused. Upgrade the server to a version that the error names';
const takesLess =
  'connected to a NATS server that takes only smaller messages: an actor whose record is larger cannot be saved, and a replica that starts is refused. Raise max_payload as the error says';

function logged(log: Log, sentence: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    log.error({ error: asError(error) }, sentence);
  }
}
