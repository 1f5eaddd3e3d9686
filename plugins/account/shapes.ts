/** What plugins add to the account, member by member, for those that no compiler reads: what is missing or misspelt ends the start. */
import { assertShape, FUNCTION, maybe, TEXT, type Shape } from '../../src/doors/shapes.ts'
import { SECTION } from '../pages/areas.ts'
import type { AccountSection, OverviewNotice, SecurityPart } from './sections.ts'

const ACCOUNT_SECTION: Shape<AccountSection> = { ...SECTION, about: FUNCTION }
const PART: Shape<SecurityPart> = { name: TEXT, part: TEXT, model: FUNCTION, nextStep: maybe(FUNCTION) }
const NOTICE: Shape<OverviewNotice> = { name: TEXT, part: TEXT, model: FUNCTION }

export function assertSection(section: unknown): void {
  assertShape('section of the account', ACCOUNT_SECTION, section)
}

export function assertSecurityPart(part: unknown): void {
  assertShape('part of the page of security', PART, part)
}

export function assertNotice(notice: unknown): void {
  assertShape('notice of the overview', NOTICE, notice)
}
