/**
 * The page's live feed: a WebSocket that reconnects.
 *
 * Promises: after a loss it retries, first at once, then with pauses that grow to a few seconds; a connection
 * that says nothing for long is taken for lost (a machine that slept, a way in between that is gone); each
 * connection is told what is watched; after its token was refused it does not retry before somebody signs in.
 * An attempt that ends without a word is reported as a doubt, because a browser does not say why it failed;
 * the loss of a feed that was heard is none.
 */

import type { Clock, Timer } from '../../base/clock.ts';
import { age, shownClock } from '../../base/words.ts';
import type { LiveMessage, LiveRequest } from '../live/live-messages.ts';
import { liveProtocol } from '../live/live-protocol.ts';
import { readJson } from './answer.ts';
import { elapsedMs, markOf, type Silence } from './hearing.ts';

/** `full`: the replica serves as many pages as it can. */
export type ConnectionState = 'connecting' | 'live' | 'lost' | 'full' | 'refused';

export type Connection = ReturnType<typeof connectLive>;

const pausesMs = [100, 400, 1_000, 2_000, 3_000] as const;
/** The close codes for HTTP's 401 and 403. */
const refusals = [4401, 4403];
const full = 1013;
/** Fifteen beats: a bundle of rows takes a few seconds where the way is slow. */
const lostMs = 15_000;
/** A timer stands still while the machine sleeps. What came before it slept is read between two looks. */
const lookMs = 1_000;

interface ConnectionParts {
  readonly clock: Clock;
  /** Of the feed. */
  readonly address: string;
  readonly onState: (state: ConnectionState) => void;
  readonly onMessage: (message: LiveMessage) => void;
  /** Perhaps the token was refused, perhaps nobody is there. */
  readonly onDoubt: () => void;
}

export function connectLive(parts: ConnectionParts) {
  const { clock, address, onState, onMessage, onDoubt } = parts;
  let socket: WebSocket | null = null;
  let request: LiveRequest = { rows: true, actor: null };
  let timer: Timer | null = null;
  let failures = 0;

  const open = () => {
    timer?.cancel();
    if (socket) return;
    const opened = new WebSocket(address, [liveProtocol]);
    socket = opened;
    let isHeard = false;
    // Else what was said about the last attempt stays.
    if (failures === 0) onState('connecting');
    const hush = awaitHush(clock, () => {
      lose(0);
      opened.close();
    });
    const lose = (code: number) => {
      if (socket !== opened) return;
      socket = null;
      hush.stop();
      if (refusals.includes(code)) return onState('refused');
      onState(code === full ? 'full' : 'lost');
      if (!isHeard && code !== full) onDoubt();
      timer = clock.after(pausesMs[Math.min(failures, pausesMs.length - 1)] ?? 1_000, open);
      failures++;
    };
    opened.onopen = () => opened.send(JSON.stringify(request));
    opened.onmessage = ({ data }) => {
      if (socket !== opened) return;
      failures = 0;
      isHeard = true;
      hush.heard();
      const message = readJson(String(data)) as LiveMessage;
      if (message.type === 'hello') onState('live');
      onMessage(message);
    };
    opened.onclose = ({ code }) => lose(code);
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

const stateTexts: Readonly<Record<ConnectionState, string>> = {
  connecting: 'connecting',
  live: 'live',
  lost: 'reconnecting',
  full: 'too many open pages; trying again',
  refused: 'signed out',
};

/** Whether what is shown is the present; if not, how old it is. */
export function newsText(state: ConnectionState, silence: Silence | null): string {
  if (silence === null || !['live', 'lost', 'full'].includes(state)) return stateTexts[state];
  const asOf = silence.asOf > 0 ? ` (as of ${shownClock(silence.asOf)})` : '';
  const since = `no news since ${age(silence.ms)}${asOf}`;
  return state === 'live' ? since : `${stateTexts[state]}; ${since}`;
}

/** Reports when nothing was heard for too long, soon after a sleep too. */
function awaitHush(clock: Clock, onHush: () => void) {
  let heard = markOf(clock);
  let isLate = false;
  let timer: Timer;
  const look = () => {
    timer = clock.after(lookMs, () => {
      const wasLate = isLate;
      isLate = elapsedMs(clock, heard) >= lostMs - lookMs;
      if (isLate && wasLate) onHush();
      else look();
    });
  };
  look();
  return {
    heard(): void {
      heard = markOf(clock);
      isLate = false;
    },
    stop: () => timer.cancel(),
  };
}
