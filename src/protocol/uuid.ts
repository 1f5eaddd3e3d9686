/** Which texts are ids: PostgreSQL refuses to look others up. */

/** Before every other. */
export const NIL = '00000000-0000-0000-0000-000000000000'

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export function isUuid(text: string): boolean {
  return UUID.test(text)
}
