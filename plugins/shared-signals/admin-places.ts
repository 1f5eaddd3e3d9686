/** Where streams stand in the administration, below `/admin`. */
import { message } from '../../src/protocol/message.ts'

/** Of the section, as templates call it. */
export const SECTION = message('Shared signals')
export const LIST = '/shared-signals'
export const ONE = `${LIST}/stream`
export const VERIFICATION = `${LIST}/verification`
export const REMOVAL = `${LIST}/removal`
