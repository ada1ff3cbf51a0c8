/**
 * The page's live feed: a WebSocket that reconnects.
 *
 * Promises: after a loss it retries, first at once, then with pauses that grow to a few seconds; each
 * connection is told what is watched; after its token was refused it does not retry before somebody signs in.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import type { LiveMessage, LiveRequest } from '../live/live-messages.ts';
import { liveProtocol } from '../live/live-protocol.ts';

export type ConnectionState = 'connecting' | 'live' | 'lost' | 'refused';

export type Connection = ReturnType<typeof connectLive>;

const pausesMs = [100, 400, 1_000, 2_000, 3_000] as const;
/** The close codes for HTTP's 401 and 403. */
const refusals = [4401, 4403];

export function connectLive(parts: {
  readonly clock: Clock;
  readonly onState: (state: ConnectionState) => void;
  readonly onMessage: (message: LiveMessage) => void;
}) {
  const { clock, onState, onMessage } = parts;
  let socket: WebSocket | null = null;
  let request: LiveRequest = { rows: true, actor: null };
  let timer: Timer | null = null;
  let failures = 0;

  const open = () => {
    timer?.cancel();
    if (socket) return;
    const opened = new WebSocket(`${location.origin.replace(/^http/, 'ws')}/api/v1/inspect`, [liveProtocol]);
    socket = opened;
    onState('connecting');
    opened.onopen = () => opened.send(JSON.stringify(request));
    opened.onmessage = ({ data }) => {
      failures = 0;
      const message = JSON.parse(String(data)) as LiveMessage;
      if (message.type === 'hello') onState('live');
      onMessage(message);
    };
    opened.onclose = ({ code }) => {
      socket = null;
      if (refusals.includes(code)) return onState('refused');
      onState('lost');
      const pause = pausesMs[Math.min(failures, pausesMs.length - 1)] ?? 1_000;
      failures++;
      timer = clock.after(pause, open);
    };
  };
  open();

  return {
    /** Sets what is watched from now on. */
    watch(wanted: LiveRequest): void {
      if (JSON.stringify(wanted) === JSON.stringify(request)) return;
      request = wanted;
      if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(request));
    },
    /** Retries now. */
    retry(): void {
      failures = 0;
      open();
    },
  };
}
