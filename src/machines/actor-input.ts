import type { ActorId } from '../ids.ts';

/** What every durable actor's chart is begun with. */
export interface ActorInput {
  readonly id: ActorId;
  readonly namespace: string;
  readonly name: string;
}
