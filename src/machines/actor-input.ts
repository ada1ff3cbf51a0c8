/** What a durable actor knows from its birth: its own name. The host fills it in from the id. */
import type { ActorId } from '../base/ids.ts';

export interface ActorInput {
  readonly id: ActorId;
  readonly namespace: string;
  readonly name: string;
}
