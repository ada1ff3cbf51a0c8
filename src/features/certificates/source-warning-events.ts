/** Warning Events about what asks for certificates: written by the same code as those of actors, under keys of the objects' own. */
import { writeKubeEvent } from '../../kube/effects/kube-event.ts';
import { type SourceWarning, type SourceWarningParts, SourceWarnings } from './source-warnings.ts';

export function sourceWarnings({
  kube,
  log,
  clock,
  world,
  replica,
}: Omit<SourceWarningParts, 'warn'> & { readonly replica: string }): SourceWarnings {
  const write = writeKubeEvent(kube, { replica });
  const warn = ({ regarding, reason, note, key }: SourceWarning, signal: AbortSignal) => {
    const event = { type: 'kube-event.write', regarding, eventType: 'Warning', reason, note } as const;
    const context = { key, actor: 'domain/_/_', signal, emit: () => {} } as const;
    return write({ ...event, at: clock.now() }, context);
  };
  return new SourceWarnings({ kube, log, clock, world, warn });
}
