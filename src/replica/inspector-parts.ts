/**
 * Composes the inspector of one replica: the live feed, an actor's history, and the page's files, for its
 * HTTP server.
 */

import { createControl } from '../actors/control/control-client.ts';
import { readHistory } from '../actors/control/history.ts';
import { systemClock as clock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import type { Bus } from '../bus/bus.ts';
import type { Subjects } from '../bus/subjects.ts';
import type { HttpServerParts } from '../inspector/http/server.ts';
import { LiveWatch } from '../inspector/live/live-watch.ts';
import { openLive } from '../inspector/live/open-live.ts';
import type { Kinds } from './charts.ts';
import type { RunConfig } from './config.ts';

export interface Inspector {
  readonly http: Pick<
    HttpServerParts,
    'control' | 'stored' | 'letters' | 'history' | 'files' | 'live' | 'hosts' | 'messages'
  >;
  stop(): void;
}

export async function createInspector(
  { replica, release, inspectorAuth }: Pick<RunConfig, 'replica' | 'release' | 'inspectorAuth'>,
  {
    bus,
    subjects,
    kinds: { charts, messages },
  }: { readonly bus: Bus; readonly subjects: Subjects; readonly kinds: Kinds },
): Promise<Inspector> {
  const { createPageFiles } = await import('../inspector/http/page-files.ts');
  const control = createControl({ bus, subjects });
  const liveWatch = new LiveWatch({ bus, subjects, clock, control, watcher: systemRandom.id() });
  return {
    http: {
      control,
      messages,
      stored: control,
      letters: control,
      history: (id) => readHistory({ bus, subjects, clock, charts }, id),
      files: createPageFiles(),
      live: openLive({ clock, liveWatch, control, charts, replica, release }),
      hosts: inspectorAuth === 'none' ? 'loopback' : 'any',
    },
    stop: () => liveWatch.stop(),
  };
}
