/** Who is signed in, and which kinds of actors the release knows. */
import { type Answer, readKinds, readSession, type Session } from './api.ts';

export interface Who {
  readonly session: Answer<Session> | null;
  /** null: unknown so far. */
  readonly allKinds: readonly string[] | null;
  readSession(): Promise<void>;
  readKinds(): Promise<void>;
}

export function createWho(changed: () => void): Who {
  const known = { session: null as Answer<Session> | null, allKinds: null as readonly string[] | null };
  return {
    get session() {
      return known.session;
    },
    get allKinds() {
      return known.allKinds;
    },
    async readSession() {
      const session = await readSession();
      // Without an answer, both are unknown again.
      if ('refused' in session && session.refused.status === 0 && known.session) return;
      known.session = session;
      changed();
    },
    async readKinds() {
      known.allKinds = (await readKinds()) ?? known.allKinds;
      changed();
    },
  };
}
