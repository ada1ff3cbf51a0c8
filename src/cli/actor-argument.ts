/** The argument ID of a command. Pure. */
import { asError, OrreryError } from '../base/errors.ts';
import { type ActorId, actorId, parseActorId } from '../base/ids.ts';

/**
 * Reads `pod/shop/web-0`; for kinds without a namespace `domain/app.example.com` will do.
 *
 * @throws OrreryError USAGE
 */
export function readActorId(text: string): ActorId {
  const words = text.split('/');
  const full = words.length === 2 ? `${words[0]}/_/${words[1]}` : text;
  try {
    const { kind, namespace, name } = parseActorId(full);
    return actorId(kind, namespace, name);
  } catch (error) {
    throw new OrreryError('USAGE', `ID: ${asError(error).message}`);
  }
}

/**
 * The same, of a kind that there is, by any of its names: `po/shop/web-0`.
 *
 * @throws OrreryError USAGE
 */
export async function readKnownId(text: string): Promise<ActorId> {
  const { kind, namespace, name } = parseActorId(readActorId(text));
  const [{ charts }, { readKind }] = await Promise.all([
    import('../replica/charts.ts'),
    import('./get/selection.ts'),
  ]);
  const kinds = charts.filter(({ durable }) => durable);
  return actorId(readKind(kind, kinds), namespace, name);
}
