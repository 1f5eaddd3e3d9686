/** The checks of the basic plan, from their files. */
import { flow } from './flow.ts'
import { hints } from './hints.ts'
import { idToken } from './id-token.ts'
import { refusals } from './refusals.ts'
import { sessions } from './sessions.ts'
import { tokens } from './tokens.ts'
import { userinfo } from './userinfo.ts'

export const basic = { ...flow, ...idToken, ...userinfo, ...hints, ...sessions, ...tokens, ...refusals }
