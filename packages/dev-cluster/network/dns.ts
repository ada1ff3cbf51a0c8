/**
 * The development cluster's name server, CoreDNS' part: `<service>.<namespace>.svc.<cluster domain>` leads to
 * the cluster IP.
 *
 * It answers over UDP on a free port of 127.0.0.1. The machine's own resolver is not touched, so only
 * programs that are told of it use it (`orrery run --probe-dns`). Promises: it knows what the API server
 * knows now. The name of a deleted Service leads nowhere. Names of other forms are refused. Anything after
 * `svc.` counts as the cluster's domain, which replicas find out for themselves. Absent: headless Services,
 * names of Pods, IPv6 (cluster IPs here are IPv4), TCP, recursion.
 */
import { createSocket } from 'node:dgram';
import { isIPv4 } from 'node:net';
import type { HostPort } from '../../../src/base/config-values.ts';
import { services as serviceResource } from '../../../src/kube/api/resources.ts';
import { startInformer } from '../controllers/informer.ts';
import type { ServiceObject } from '../objects.ts';
import type { DevPart, DevParts } from '../parts.ts';
import { type DnsAnswer, readQuestion, recordTypeA, writeAnswer } from './dns-message.ts';

export interface DevDns extends DevPart {
  readonly address: HostPort;
  /** Resolves when every existing Service can be looked up. */
  readonly started: Promise<void>;
}

/** @throws the socket error if no port can be had */
export async function startDns(parts: DevParts): Promise<DevDns> {
  const services = startInformer<ServiceObject>({ ...parts, resource: serviceResource });
  const socket = createSocket('udp4');
  socket.on('error', (error) => parts.log.warn({ error: error.message }, 'name server'));
  socket.on('message', (message, { address, port }) => {
    const question = readQuestion(message);
    if (question === null) return;
    const answer = answerTo(question.name, question.type, (key) => services.get(key));
    socket.send(writeAnswer(question, answer), port, address);
  });
  const host = '127.0.0.1';
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.bind({ address: host, port: 0, exclusive: true }, resolve);
    });
  } catch (thrown) {
    await services.stop();
    throw thrown;
  }
  return {
    address: { host, port: socket.address().port },
    started: services.synced,
    async stop() {
      await services.stop();
      await new Promise<void>((resolve) => socket.close(() => resolve()));
    },
  };
}

export function answerTo(
  name: string,
  type: number,
  serviceAt: (key: string) => ServiceObject | undefined,
): DnsAnswer {
  const match = /^([^.]+)\.([^.]+)\.svc\.[^.]+/.exec(name);
  if (match === null) return 'refused';
  const ip = serviceAt(`${match[2]}/${match[1]}`)?.spec?.clusterIP;
  if (ip === undefined || !isIPv4(ip)) return 'absent';
  return type === recordTypeA ? [ip] : [];
}
