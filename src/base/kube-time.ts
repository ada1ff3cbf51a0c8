/** Times as Kubernetes writes them, from milliseconds since the epoch. Pure. */

/** metav1.Time: whole seconds. */
export function kubeTime(ms: number): string {
  return text(ms).replace(/\.\d+Z$/, 'Z');
}

/** metav1.MicroTime: exactly six digits of a second. */
export function kubeMicroTime(ms: number): string {
  return text(ms).replace(/\.(\d{3})Z$/, '.$1000Z');
}

/** RFC3339Nano of Go: no more digits of a second than are needed. */
export function kubeNanoTime(ms: number): string {
  return text(ms).replace(/\.?0*Z$/, 'Z');
}

const text = (ms: number) => new Date(ms).toISOString();
