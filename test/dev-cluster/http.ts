/**
 * For the tests of the development cluster: one request over a connection of its own, and whether anybody
 * listens.
 */
import { get } from 'node:http';
import { connect } from 'node:net';
import { systemClock } from '../../src/base/clock.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** @throws the socket error; or "no answer" after `timeoutMs` */
export function ask(url: string, timeoutMs = 2_000): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text: string) => {
        body += text;
      });
      response.once('end', () => {
        timer.cancel();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
      });
      response.once('error', reject);
    });
    const timer = systemClock.after(timeoutMs, () => request.destroy(new Error('no answer')));
    request.once('error', (error) => {
      timer.cancel();
      reject(error);
    });
  });
}

/** `open`, or the code of the error. */
export function knock(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.once('connect', () => {
      socket.destroy();
      resolve('open');
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}
