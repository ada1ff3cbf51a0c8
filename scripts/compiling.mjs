/**
 * The environment in which TypeScript compiles: a Go program that ends in seconds, so that collecting its
 * garbage, a third of its work, frees memory that nobody needs. It collects once it takes more than that.
 */
export const compiling = { GOGC: 'off', GOMEMLIMIT: '2GiB', ...process.env };
