/** The input of every durable actor: its own name. The host derives it from the id. */
import type { ActorId } from '../base/ids.ts';

export interface ActorInput {
  readonly id: ActorId;
  readonly namespace: string;
  readonly name: string;
}
