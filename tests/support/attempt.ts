/** For properties that hold of either outcome: runs something and returns what it returned, or what it threw. */
export function attempt<T>(run: () => T): { value?: T; error?: unknown } {
  try {
    return { value: run() }
  } catch (error) {
    return { error }
  }
}
