/**
 * Backup and restoration of a stream, as `nats stream backup` and `nats stream restore` do it (JetStream's
 * SNAPSHOT and RESTORE).
 */
import type { Bus } from '../../../src/bus/bus.ts';

export interface Backup {
  readonly stream: string;
  readonly made: { readonly config: object; readonly state: object };
  readonly chunks: readonly Uint8Array[];
}

const timeoutMs = 10_000;
const bytes = (value: object) => new TextEncoder().encode(JSON.stringify(value));

/** @throws Error with the server's words */
export async function jetStream<T>(bus: Bus, verb: string, body: object = {}): Promise<T> {
  const { data } = await bus.request(`$JS.API.${verb}`, bytes(body), { timeoutMs });
  const answer = JSON.parse(new TextDecoder().decode(data)) as T & { error?: { description: string } };
  if (answer.error) throw new Error(`${verb}: ${answer.error.description}`);
  return answer;
}

export async function backUp(bus: Bus, stream: string): Promise<Backup> {
  const inbox = `_INBOX.backup.${stream}`;
  const chunks: Uint8Array[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const subscription = bus.subscribe(inbox, ({ data, reply }) => {
    if (data.length === 0) return resolve();
    chunks.push(data);
    bus.publish(reply, new Uint8Array());
  });
  const asked = { deliver_subject: inbox, no_consumers: true, chunk_size: 64 * 1024 };
  const { config, state } = await jetStream<Backup['made']>(bus, `STREAM.SNAPSHOT.${stream}`, asked);
  await promise;
  subscription.stop();
  return { stream, made: { config, state }, chunks };
}

/** The stream must not exist. */
export async function restore(bus: Bus, { stream, made, chunks }: Backup): Promise<void> {
  const { deliver_subject: to } = await jetStream<{ deliver_subject: string }>(
    bus,
    `STREAM.RESTORE.${stream}`,
    made,
  );
  for (const chunk of chunks) await bus.request(to, chunk, { timeoutMs });
  const { data } = await bus.request(to, new Uint8Array(), { timeoutMs });
  const { error } = JSON.parse(new TextDecoder().decode(data)) as { error?: { description: string } };
  if (error) throw new Error(`restore ${stream}: ${error.description}`);
}
