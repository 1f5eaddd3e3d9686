// The oldest Node that the package runs on, as `engines` says: npm only warns, and keys would be fetched in vain there.

const OLDEST: readonly [number, number] = [22, 19]

/** @throws {Error} on an older Node, so that an app does not start that could verify no token */
export function assertNodeVersion(version: string = process.versions.node): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor, oldestMinor] = OLDEST
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return
  throw new Error(
    `@latchkey/require-scope needs Node ${OLDEST.join('.')} or newer, and this is ${version}: install a newer Node, and start the app again.`,
  )
}
