/** The time units and bounds of an Issuer, ms. */
export const hourMs = 3_600_000;
export const weekMs = 7 * 24 * hourMs;
/** A domain returns its permit within 300 s; a later one is lost. */
export const permitMs = 330_000;
