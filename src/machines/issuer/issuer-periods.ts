/** The times by which an Issuer counts, ms. */
export const hourMs = 3_600_000;
export const weekMs = 7 * 24 * hourMs;
/** A domain gives its permit back within 300 s; one that does not has been lost on the way. */
export const permitMs = 330_000;
