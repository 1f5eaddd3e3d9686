/** What plugins add to the administration, member by member, for those that no compiler reads: what is missing or misspelt ends the start. */
import { assertShape, FUNCTION, maybe, oneOf, TEXT, type Shape } from '../../src/doors/shapes.ts'
import { SECTION, WORDS } from '../pages/areas.ts'
import type { AdminSection, NewUserWay, UserPart } from './sections.ts'

const ADMIN_SECTION: Shape<AdminSection> = { ...SECTION, group: maybe(oneOf('apps', 'people', 'server')) }
const PART: Shape<UserPart> = { name: TEXT, part: TEXT, model: FUNCTION }
const WAY: Shape<NewUserWay> = {
  id: TEXT,
  text: WORDS,
  isOn: FUNCTION,
  refusalOf: FUNCTION,
  submit: FUNCTION,
  again: maybe(FUNCTION),
}

export function assertSection(section: unknown): void {
  assertShape('section of the administration', ADMIN_SECTION, section)
}

export function assertUserPart(part: unknown): void {
  assertShape('part of the page of a user', PART, part)
}

export function assertNewUserWay(way: unknown): void {
  assertShape('way for new users', WAY, way)
}
