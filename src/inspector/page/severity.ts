/** The order of healths: wrong comes first. */
import type { Health } from '../../base/views.ts';

export const severity: Readonly<Record<Health, number>> = { wrong: 0, waiting: 1, ok: 2 };
