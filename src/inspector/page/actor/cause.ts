/** Reads the cause of an event. Pure. */
import type { ActorId } from '../../../base/ids.ts';

/** `pod/shop/web-0/12/0`: effect 0 of revision 12 of pod/shop/web-0. */
export function senderOf(cause: string | null): { readonly id: ActorId; readonly rev: number } | null {
  const [, id, rev] = /^([a-z]+\/[^/]+\/.+)\/(\d+)\/\d+$/.exec(cause ?? '') ?? [];
  return id && rev ? { id: id as ActorId, rev: Number(rev) } : null;
}
