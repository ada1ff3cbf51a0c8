/** Every effect of the service chart. */
import { kubeEventWrite, messageSend } from '../effects.ts';
import { routeSample, routeWiden } from './route-effects.ts';
import { slicesReconcile } from './slices-effects.ts';

export const serviceEffects = [
  messageSend,
  routeSample,
  routeWiden,
  slicesReconcile,
  kubeEventWrite,
] as const;
