/** Who is signed in, and which kinds of actors the release knows. */
import type { SessionView } from '../../base/views.ts';
import { type Answer, readKinds, readSession } from './api.ts';

export type Who = ReturnType<typeof createWho>;

export function createWho(changed: () => void) {
  const known = { session: null as Answer<SessionView> | null, allKinds: null as readonly string[] | null };
  return {
    get session(): Answer<SessionView> | null {
      return known.session;
    },
    /** null: unknown so far. */
    get allKinds(): readonly string[] | null {
      return known.allKinds;
    },
    async readSession(): Promise<void> {
      const session = await readSession();
      // Without an answer, both are unknown again.
      if ('refused' in session && session.refused.status === 0 && known.session) return;
      known.session = session;
      changed();
    },
    async readKinds(): Promise<void> {
      known.allKinds = (await readKinds()) ?? known.allKinds;
      changed();
    },
  };
}
