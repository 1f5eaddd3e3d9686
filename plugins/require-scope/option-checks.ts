// One sentence for each option that cannot be meant, wherever options are given. A switch of security that is no boolean, or
// misspelt, must not count as set or as unset.

/** @param who begins the sentence: `dpop`. Throws `TypeError`. */
export function assertOption(who: string, condition: boolean, message: string): asserts condition {
  if (!condition) throw new TypeError(`${who}: ${message}`)
}

/** @throws {TypeError} for what is no object of these names */
export function assertNames(
  who: string,
  options: unknown,
  names: readonly string[],
  what = 'the options',
): void {
  const isObject = typeof options === 'object' && options !== null && !Array.isArray(options)
  assertOption(who, isObject, `${what} must be an object`)
  const unknown = Object.keys(options).find((name) => !names.includes(name))
  assertOption(who, unknown === undefined, `there is no option ${unknown}`)
}

/** @throws {TypeError} */
export function assertBoolean(who: string, name: string, value: unknown): void {
  assertOption(who, typeof value === 'boolean', `${name} must be true or false`)
}

/** @throws {TypeError} */
export function assertFunction(who: string, name: string, value: unknown): void {
  assertOption(who, typeof value === 'function', `${name} must be a function`)
}

/**
 * @param one what a member is called
 * @throws {TypeError} for what is no list, or has another member than these
 */
export function assertListOf(
  who: string,
  name: string,
  list: unknown,
  known: readonly string[],
  one = name,
): void {
  assertOption(who, Array.isArray(list), `${name} must be a list`)
  for (const member of list as unknown[])
    assertOption(
      who,
      known.includes(member as string),
      `${one} ${String(member)} is not one of ${known.join(', ')}`,
    )
}
