/** The time units and bounds of an Issuer, ms. */
export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;
export const weekMs = 7 * dayMs;
/** A domain returns its permit within 300 s; a later one is lost. */
export const permitMs = 330_000;
