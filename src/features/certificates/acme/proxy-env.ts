/**
 * The HTTP proxy that the environment names, as curl and programs in Go read it: HTTPS_PROXY, HTTP_PROXY and
 * NO_PROXY, or the same in lower case. For authorities and webhooks alone: nothing else goes by it. Node.js
 * 24.5 or newer (22.21 for release 22) follows it.
 */
export interface ProxyEnv {
  readonly HTTPS_PROXY?: string;
  readonly HTTP_PROXY?: string;
  readonly NO_PROXY?: string;
}

/** @returns undefined: no proxy */
export function proxyEnvOf(env: Readonly<NodeJS.ProcessEnv>): ProxyEnv | undefined {
  const https = withScheme(env.https_proxy || env.HTTPS_PROXY);
  const http = withScheme(env.http_proxy || env.HTTP_PROXY);
  if (https === undefined && http === undefined) return undefined;
  const none = env.no_proxy || env.NO_PROXY;
  return {
    ...(https !== undefined && { HTTPS_PROXY: https }),
    ...(http !== undefined && { HTTP_PROXY: http }),
    ...(none ? { NO_PROXY: none } : {}),
  };
}

/** `proxy:3128` is short for `http://proxy:3128`. */
function withScheme(text: string | undefined): string | undefined {
  if (!text) return undefined;
  return text.includes('://') ? text : `http://${text}`;
}

/** Variables whose proxy Node.js would leave out silently: it takes http:// and https:// only. */
export function unusableProxies(proxies: ProxyEnv): readonly string[] {
  return (['HTTPS_PROXY', 'HTTP_PROXY'] as const).filter((name) => {
    const url = proxies[name];
    return url !== undefined && !/^https?:$/.test(URL.parse(url)?.protocol ?? '');
  });
}
