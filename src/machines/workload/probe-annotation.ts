/**
 * The annotation `orrery.dev/probe`: `<scheme>://[host]:<port>[/path] [period=10s] [timeout=1s] [failures=3]
 * [successes=1]`.
 *
 * Scheme `http`, `https` or `tcp`; the host is the Host header, never an address that is called. Pure.
 */
import { limits } from '../../base/limits.ts';
import type { WorkloadProbe } from './workload-effects.ts';

export interface ProbePlan {
  readonly probe: WorkloadProbe;
  readonly periodMs: number;
  /** Consecutive rounds that make the workload unready, or ready. */
  readonly failures: number;
  readonly successes: number;
}

/** The probe that the annotation describes, or what is wrong with it. */
export function readProbe(text: string): ProbePlan | { readonly invalid: string } {
  if (text.length > limits.probeAnnotationChars)
    return { invalid: `it is longer than ${limits.probeAnnotationChars} characters` };
  const [url = '', ...options] = text.trim().split(/\s+/);
  const match = /^(http|https|tcp):\/\/([A-Za-z0-9.-]*):([0-9]{1,5})(\/[\x21-\x7e]*)?$/.exec(url);
  if (match === null) {
    return {
      invalid: `"${cut(url)}" is not a probe; use http://:8080/healthz, https://:8443/healthz or tcp://:5432`,
    };
  }
  const [, scheme, host = '', port = '', path] = match;
  const number = Number(port);
  if (number < 1 || number > 65_535) return { invalid: `port ${port} is not between 1 and 65535` };
  if (scheme === 'tcp' && path !== undefined) return { invalid: 'a TCP probe cannot have a path' };
  const read = readOptions(options);
  if ('invalid' in read) return read;
  const { periodMs, timeoutMs, failures, successes } = read;
  return {
    probe: {
      scheme: scheme as 'http' | 'https' | 'tcp',
      host: host === '' ? null : host,
      port: number,
      path: path ?? '/',
      timeoutMs,
    },
    periodMs,
    failures,
    successes,
  };
}

/**
 * Name → field, unit in ms (1: a count), minimum and maximum: at most one probe a second and at least one a
 * day, as Kubernetes allows for Pods.
 */
const known: Readonly<Record<string, { field: OptionName; unit: number; min: number; max: number }>> = {
  period: { field: 'periodMs', unit: 1_000, min: 1, max: 3_600 },
  timeout: { field: 'timeoutMs', unit: 1_000, min: 1, max: 60 },
  failures: { field: 'failures', unit: 1, min: 1, max: 100 },
  successes: { field: 'successes', unit: 1, min: 1, max: 100 },
};
type OptionName = 'periodMs' | 'timeoutMs' | 'failures' | 'successes';

function readOptions(options: readonly string[]): Record<OptionName, number> | { readonly invalid: string } {
  const read = { periodMs: 10_000, timeoutMs: 1_000, failures: 3, successes: 1 };
  for (const option of options) {
    const [name = '', value = ''] = option.split('=', 2);
    const one = Object.hasOwn(known, name) ? known[name] : undefined;
    const digits = /^([0-9]{1,4})(s?)$/.exec(value);
    const count = Number(digits?.[1] ?? Number.NaN);
    if (one === undefined)
      return { invalid: `"${cut(option)}" is no option: ${Object.keys(known).join(', ')} are` };
    if (!(count >= one.min && count <= one.max) || (digits?.[2] === 's') !== one.unit > 1) {
      const unit = one.unit > 1 ? 's' : '';
      return { invalid: `"${cut(option)}": ${name} is between ${one.min}${unit} and ${one.max}${unit}` };
    }
    read[one.field] = count * one.unit;
  }
  return read;
}

/** As much of it as a person needs to find it. */
const cut = (text: string): string => (text.length > 100 ? `${text.slice(0, 100)}…` : text);
