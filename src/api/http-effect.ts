/** The effect that makes one HTTP call. */
import { type Effect, effect, type Tools } from './effect.ts';
import { type HttpAnswer, type HttpRequest, httpTimeoutMs } from './http-call.ts';

/**
 * An effect that makes one HTTP call. An answer of any status counts as done; no answer as failed.
 *
 * @param options.headers computed when the call is made: the place for secrets, which must not be in params
 */
export function http<const T extends string>(
  type: T,
  options: { readonly headers?: (tools: Tools) => Promise<Readonly<Record<string, string>>> } = {},
): Effect<T, HttpRequest, HttpAnswer> {
  return effect(type, {
    async run(request: HttpRequest, tools) {
      const own = (await options.headers?.(tools)) ?? {};
      return tools.http({ ...request, headers: { ...request.headers, ...own } });
    },
    timeoutMs: ({ timeoutMs = httpTimeoutMs }) => timeoutMs + 5_000,
  });
}
