/** The effects that an election asks for. */

import type { ElectionEvent } from './election-events.ts';
import type { LeasePlace, LeaseRecord } from './lease-record.ts';

/** Reads the Lease. Outcome: lease.seen | lease.unseen. */
export interface LeaseLook {
  readonly type: 'lease.look';
  readonly attempt: number;
  readonly place: LeasePlace;
  readonly timeoutMs: number;
}

/** Makes the Lease, or writes it on condition of its version. Outcome: lease.written | lease.refused. */
export interface LeaseWrite {
  readonly type: 'lease.write';
  readonly attempt: number;
  readonly place: LeasePlace;
  /** null: there is no Lease yet. */
  readonly resourceVersion: string | null;
  readonly record: LeaseRecord;
  readonly term: number;
  /** Past this time nothing is written, milliseconds since the epoch. */
  readonly notAfter: number;
  readonly timeoutMs: number;
}

/** Gives the Lease back if a fresh look shows that it is still the holder's. Outcome: lease.released. */
export interface LeaseRelease {
  readonly type: 'lease.release';
  readonly attempt: number;
  readonly place: LeasePlace;
  /** Whose it must be: holder and transitions. */
  readonly holder: string;
  readonly transitions: number;
  /** acquireTime and renewTime of the freed Lease. */
  readonly time: string;
  readonly notAfter: number;
  readonly timeoutMs: number;
}

/** Says `lease.seen` for the Lease as it is and at each change. Outcome after a while: lease.followed. */
export interface LeaseFollow {
  readonly type: 'lease.follow';
  readonly place: LeasePlace;
  readonly seconds: number;
}

export interface ElectionStatus {
  readonly holder: string | null;
  readonly term: number;
  readonly acquireTime: string | null;
  readonly renewTime: string | null;
  readonly transitions: number;
  readonly candidates: readonly string[];
  readonly observedGeneration: number;
  /** Why the election cannot be held; null: it can. */
  readonly invalid: string | null;
}

/** Writes the status of the Election resource. Outcome: election-status.patched | election-status.refused. */
export interface ElectionStatusPatch {
  readonly type: 'election-status.patch';
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly status: ElectionStatus;
  /** lastTransitionTime of a condition that changes, milliseconds since the epoch. */
  readonly at: number;
}

export type LeaseEffect = LeaseLook | LeaseWrite | LeaseRelease | LeaseFollow;
export type ElectionEffect = LeaseEffect | ElectionStatusPatch;

export const electionEffectTypes = [
  'lease.look',
  'lease.write',
  'lease.release',
  'lease.follow',
  'election-status.patch',
] as const satisfies readonly ElectionEffect['type'][];

/** The outcome of an effect that threw or ran out of time. */
export function electionFailureOf(effect: ElectionEffect, message: string): ElectionEvent {
  switch (effect.type) {
    case 'lease.look':
      return { type: 'lease.unseen', attempt: effect.attempt, message };
    case 'lease.write':
      return { type: 'lease.refused', attempt: effect.attempt, reason: 'error', message };
    case 'lease.release': {
      const unknown = { record: null, resourceVersion: null };
      return { type: 'lease.released', attempt: effect.attempt, ...unknown, error: message };
    }
    case 'lease.follow':
      return { type: 'lease.followed', place: effect.place, error: message };
    case 'election-status.patch':
      return { type: 'election-status.refused', message };
  }
}
