/** Every effect of the service chart. */
import { kubeEventWrite, messageSend } from '../effects.ts';
import { routeSample } from './route-effects.ts';
import { slicesReconcile } from './slices-effects.ts';

export const serviceEffects = [messageSend, routeSample, slicesReconcile, kubeEventWrite] as const;
