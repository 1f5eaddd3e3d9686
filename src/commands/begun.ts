/** Failures of commands that had begun with what they were asked for: what they did before may be done. */
export const begun = new WeakSet<Error>()
