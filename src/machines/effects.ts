/**
 * The effects that every feature's charts may request: a message to other actors, and a Kubernetes Event.
 */
import type { ActorId } from '../base/ids.ts';
import type { PlainEvent } from '../base/plain-event.ts';
import { effect } from './effect.ts';

/**
 * Sends one event to other actors over the mail stream: at least once, however long the stream is away or
 * full. Outcome: effect.settled, once everything is stored.
 */
export interface MessageSend {
  readonly type: 'message.send';
  readonly to: readonly ActorId[];
  readonly event: PlainEvent;
}

export const messageSend = effect<MessageSend>('message.send', { untilDone: true });

/**
 * Asks for messages in `enqueueActions`, except for those to nobody. The actions of one setup() do not know
 * each other's types.
 */
export function send(enqueue: unknown, ...messages: ReadonlyArray<Omit<MessageSend, 'type'>>): void {
  const run = enqueue as (action: { type: 'message.send'; params: object }) => void;
  for (const params of messages) if (params.to.length > 0) run({ type: 'message.send', params });
}

/** Writes a Kubernetes Event about an object. Outcome: effect.settled. */
export interface KubeEventWrite {
  readonly type: 'kube-event.write';
  readonly regarding: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
  };
  readonly eventType: 'Normal' | 'Warning';
  /** CamelCase, machine-readable. */
  readonly reason: string;
  readonly note: string;
  /** milliseconds since the epoch */
  readonly at: number;
}

export const kubeEventWrite = effect<KubeEventWrite>('kube-event.write');
