/** The names of all doors, for plugins that no compiler reads: what is registered at a misspelt one would never be asked. */
import { ConfigError } from '../config.ts'
import type { Additive, Dispatched, Ordered } from './kinds.ts'

const DISPATCHED: Readonly<Record<keyof Dispatched, true>> = {
  clientAuthentication: true,
  requestSource: true,
  responseType: true,
  responseMode: true,
  outcome: true,
  subjectType: true,
  delivery: true,
  signInMethod: true,
  mailTransport: true,
}
const ORDERED: Readonly<Record<keyof Ordered, true>> = {
  authorizationCheck: true,
  parameter: true,
  interactionStep: true,
  policy: true,
  representation: true,
  senderConstraint: true,
  assurance: true,
  signInLink: true,
}
const ADDITIVE: Readonly<Record<keyof Additive, true>> = {
  tokenResponse: true,
  access_token: true,
  id_token: true,
  userinfo: true,
  introspection: true,
  authorizationResponse: true,
  metadata: true,
}
const DOORS = { register: DISPATCHED, add: ORDERED, extend: ADDITIVE }
const WAYS = ['register', 'add', 'extend'] as const

/** Throws for a name that is no door of this method, with the one that it is a door of, or the names that are. */
export function assertDoor(way: keyof typeof DOORS, name: string): void {
  if (Object.hasOwn(DOORS[way], name)) return
  const other = WAYS.find((one) => Object.hasOwn(DOORS[one], name))
  throw new ConfigError(
    other === undefined
      ? `There is no door ${name}. Those of oauth.${way} are ${Object.keys(DOORS[way]).join(', ')}.`
      : `The door ${name} is one of oauth.${other}, not of oauth.${way}.`,
  )
}
