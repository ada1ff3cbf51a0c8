/**
 * Makes every actor take a step on the replicas of one release; an actor without a step of its own is sent a
 * message.
 */
import type { Ledger } from './ledger.ts';
import { type ActorId, clock, createControl, sleep, subjectsOf } from './product.ts';
import { clusterName, type Stage } from './stage.ts';

const withinMs = 45_000;
const pauseMs = 500;

/**
 * Messages that actors of the kind accept in most states. Elections renew by themselves; actors without an
 * entry must do that, too.
 */
const questions: Readonly<Record<string, readonly object[]>> = {
  pod: [{ type: 'pod.recheck' }],
  service: [{ type: 'service.recheck' }],
  workload: [{ type: 'workload.recheck' }],
  domain: [{ type: 'domain.recheck' }],
  issuer: [{ type: 'issuer.recheck' }],
  release: [{ type: 'release.reconcile' }],
  proxier: [
    { type: 'proxier.queued', family: 'IPv4' },
    { type: 'proxier.updated', family: 'IPv4' },
  ],
};

export interface Stepping {
  readonly asked: number;
  /**
   * Actors that took the message but whose chart ignores it in its state: they were restored, and nothing was
   * due.
   */
  readonly quiet: number;
  /** Living actors that neither took a step on these replicas nor answered. */
  readonly silent: readonly string[];
}

export async function takeStepsOn({ bus }: Stage, ledger: Ledger, replica: RegExp): Promise<Stepping> {
  const control = createControl({ bus, subjects: subjectsOf(clusterName) });
  const asked = new Set<string>();
  const quiet = new Set<string>();
  const ask = async (id: string) => {
    asked.add(id);
    const answers = (questions[id.split('/', 1)[0] ?? ''] ?? []).map((event) =>
      // An actor that ends or moves meanwhile refuses; it is checked again.
      control.send(id as ActorId, event as { type: string }).catch(() => null),
    );
    const taken = (await Promise.all(answers)).some(
      (answer) => answer?.accepted && answer.transition === null,
    );
    if (taken) quiet.add(id);
    else quiet.delete(id);
  };
  const deadline = clock.monotonic() + withinMs;
  for (;;) {
    const done = ledger.stepsOf(replica);
    const still = [...ledger.records].filter(([id, { gone }]) => !gone && !done.has(id)).map(([id]) => id);
    const silent = still.filter((id) => !quiet.has(id));
    if (silent.length === 0 || clock.monotonic() > deadline) {
      return { asked: asked.size, quiet: still.length - silent.length, silent };
    }
    for (const id of silent) await ask(id);
    await sleep(clock, pauseMs);
  }
}
