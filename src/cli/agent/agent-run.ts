/** Composes the node agent: its connection, its log, its end. Imports nothing that it does not need. */

import { once } from 'node:events';
import { createControl } from '../../actors/control/control-client.ts';
import { machineClock } from '../../actors/time/machine-clock.ts';
import type { HostPort } from '../../base/config-values.ts';
import type { Log } from '../../base/log-port.ts';
import { systemRandom } from '../../base/random.ts';
import { connectNats } from '../../bus/nats/nats.ts';
import { subjects as subjectsOf } from '../../bus/subjects.ts';
import { startAgent } from '../../features/proxiers/agent.ts';
import { type NatsConfig, natsAccess } from '../../replica/nats-access.ts';
import type { Terminal } from '../terminal.ts';

export interface AgentConfig {
  readonly cluster: string;
  readonly nats: NatsConfig;
  readonly node: string;
  readonly http: HostPort;
  readonly timeoutMs: number;
}

/** Runs until it is interrupted. @throws Error of the system if it cannot listen on the address */
export async function runAgent(
  { cluster, nats, node, http, timeoutMs }: AgentConfig,
  { err, interrupted }: Pick<Terminal, 'err' | 'interrupted'>,
): Promise<void> {
  const basics = { clock: machineClock, random: systemRandom, log: lines(err) };
  const subjects = subjectsOf(cluster);
  const name = `orrery health ${node}`;
  const agent = await startAgent({
    ...basics,
    node,
    http,
    timeoutMs,
    subjects,
    connect: (signal) => connectNats({ ...basics, ...natsAccess(nats), name, cluster, signal }),
    control: (bus) => createControl({ bus, subjects }),
  });
  if (!interrupted.aborted) await once(interrupted, 'abort');
  await agent.stop();
}

/** One JSON object per line, without the library of log.ts: the agent logs little and has to stay small. */
function lines(err: Terminal['err']): Log {
  const write = (level: string) => (facts: object, message: string) =>
    err(`${JSON.stringify({ level, ...facts, msg: message })}\n`);
  return { debug() {}, info: write('info'), warn: write('warn'), error: write('error') };
}
