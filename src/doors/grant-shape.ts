/** What a grant is, and what it answers with, by whom no compiler reads. */
import { isObject } from '../protocol/json.ts'
import { isAnswer } from './answer.ts'
import type { Grant } from './back-channel.ts'
import {
  assertShape,
  BOOLEAN,
  FUNCTION,
  maybe,
  PARAMETERS,
  TEXT,
  TEXTS,
  whatOf,
  type Shape,
} from './shapes.ts'

const GRANT: Shape<Grant> = {
  type: TEXT,
  parameters: PARAMETERS,
  publicClients: maybe(BOOLEAN),
  members: maybe(TEXTS),
  authorize: FUNCTION,
}

export function assertGrant(grant: unknown): void {
  assertShape(whatOf('grant', grant), GRANT, grant)
}

/** What a grant answers with. Throws `TypeError` with a sentence for the log: who asks for a token can do nothing about it. */
export function assertEstablished(type: string, answered: unknown): void {
  if (isObject(answered)) {
    const { scopes, resources, subject } = answered
    if (isAnswer(answered)) return
    const isNamed = subject === undefined || (typeof subject === 'string' && subject !== '')
    if (scopes instanceof Set && Array.isArray(resources) && isNamed) return
  }
  throw new TypeError(
    `the grant ${type} must answer with { scopes, resources }, a Set and a list, and a subject that is the id of a user or absent, or with answer(…)`,
  )
}
