/** The store of a mirror with tracing: a change's trace starts when it enters the world. */
import { asError } from '../../base/errors.ts';
import { type Tracing, traceHeader } from '../../base/tracing.ts';
import type { Bus } from '../../bus/bus.ts';
import type { StoreBus } from './publisher.ts';

export function tracedStore(bus: Pick<Bus, 'append' | 'onStatus'>, tracing: Tracing): StoreBus {
  return {
    onStatus: (callback) => bus.onStatus(callback),
    async append(subject, data, options) {
      const span = tracing.start('watch', { attributes: { 'messaging.destination.name': subject } });
      try {
        const appended = await bus.append(subject, data, {
          ...options,
          headers: { [traceHeader]: span.context },
        });
        span.end();
        return appended;
      } catch (error) {
        span.end(asError(error).message);
        throw error;
      }
    },
  };
}
