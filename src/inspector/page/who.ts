/** Who is signed in, and which kinds of actors the release knows. */
import type { SessionView } from '../../base/views.ts';
import type { Answer, Refused } from './answer.ts';

export type Who = ReturnType<typeof createWho>;

export function createWho({
  readSession,
  readKinds,
  changed,
}: {
  readonly readSession: () => Promise<Answer<SessionView>>;
  readonly readKinds: () => Promise<readonly string[] | null>;
  readonly changed: () => void;
}) {
  const known = { session: null as Answer<SessionView> | null, allKinds: null as readonly string[] | null };
  let questions = 0;
  const who = {
    get session(): Answer<SessionView> | null {
      return known.session;
    },
    /**
     * Who is not known, or may not look: signing in helps. null: neither; a replica that is away, or cannot
     * ask Kubernetes, refuses nobody.
     */
    get refused(): Refused | null {
      const { session } = known;
      return session && isRefusal(session) ? session.refused : null;
    },
    /** null: unknown so far. */
    get allKinds(): readonly string[] | null {
      return known.allKinds;
    },
    async readSession(): Promise<Answer<SessionView>> {
      questions++;
      const mine = questions;
      const session = await readSession();
      // An earlier question may be answered last.
      if (mine !== questions) return session;
      if ('ok' in session || isRefusal(session) || !known.session) {
        known.session = session;
        changed();
      }
      return session;
    },
    async readKinds(): Promise<void> {
      known.allKinds = (await readKinds()) ?? known.allKinds;
      changed();
    },
    /** A replica answers now: reads again what could not be read before. */
    async readFailed(): Promise<void> {
      const hasFailed = known.session !== null && !('ok' in known.session);
      await Promise.all([
        hasFailed ? who.readSession() : undefined,
        known.allKinds === null ? who.readKinds() : undefined,
      ]);
    },
  };
  return who;
}

const isRefusal = (session: Answer<SessionView>): session is { readonly refused: Refused } =>
  'refused' in session && [401, 403].includes(session.refused.status);
