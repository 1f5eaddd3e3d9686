/**
 * All doors, with what is registered at each, for plugins that no compiler reads: what is registered at a misspelt one, or without
 * a member that is asked for, is refused at the start.
 */
import { ConfigError } from '../config.ts'
import type { Additive, Dispatched, Ordered } from './kinds.ts'
import {
  assertShape,
  BOOLEAN,
  either,
  FUNCTION,
  maybe,
  OBJECT,
  oneOf,
  PARAMETERS,
  SCHEMA,
  TEXT,
  TEXTS,
  whatOf,
  type Member,
  type Shape,
} from './shapes.ts'

const DISPATCHED: { readonly [Kind in keyof Dispatched]: Shape<Dispatched[Kind]> } = {
  clientAuthentication: {
    credentials: TEXTS,
    algorithms: maybe(TEXTS),
    implied: maybe(BOOLEAN),
    recognizes: FUNCTION,
    authenticate: FUNCTION,
  },
  clientSource: { recognizes: FUNCTION, find: FUNCTION, recall: FUNCTION },
  requestSource: { supports: maybe(TEXTS), recognizes: FUNCTION, resolve: FUNCTION },
  responseType: { defaultMode: maybe(oneOf('query', 'fragment')), respond: FUNCTION },
  responseMode: { inQuery: BOOLEAN, send: FUNCTION },
  outcome: { check: maybe(FUNCTION), approved: FUNCTION, denied: FUNCTION },
  subjectType: { subject: FUNCTION },
  delivery: { kind: TEXT, payload: PARAMETERS, deliver: FUNCTION },
  signInMethod: {
    prompt: maybe(TEXT),
    autofill: maybe(TEXT),
    reaches: maybe(OBJECT),
    isWayIn: maybe(FUNCTION),
    offer: FUNCTION,
    submit: FUNCTION,
    page: maybe(FUNCTION),
  },
  passwordSource: { check: FUNCTION, keeps: FUNCTION, isThere: maybe(FUNCTION) },
  mailTransport: { send: FUNCTION },
  keyStore: { open: FUNCTION },
  profile: {
    locks: OBJECT,
    choices: maybe(OBJECT),
    defaults: maybe(FUNCTION),
    growingScope: maybe(BOOLEAN),
    check: maybe(FUNCTION),
  },
  authorizationDetailsType: {
    schema: PARAMETERS,
    describe: FUNCTION,
    once: maybe(BOOLEAN),
    withoutPeople: maybe(BOOLEAN),
    isWithin: maybe(FUNCTION),
  },
}
const ORDERED: { readonly [Kind in Exclude<keyof Ordered, 'policy'>]: Shape<Ordered[Kind]> } & {
  readonly policy: Member
} = {
  authorizationCheck: { name: TEXT, check: FUNCTION, review: maybe(FUNCTION) },
  parameter: {
    name: TEXT,
    schema: SCHEMA,
    parse: maybe(FUNCTION),
    kept: maybe(either(BOOLEAN, TEXT)),
    narrow: maybe(FUNCTION),
    consent: maybe(FUNCTION),
    wordsOf: maybe(FUNCTION),
    resources: maybe(FUNCTION),
    within: maybe(FUNCTION),
    review: maybe(FUNCTION),
    forItself: maybe(FUNCTION),
    decline: maybe(FUNCTION),
  },
  interactionStep: {
    name: TEXT,
    phase: maybe(oneOf('authenticate', 'approve')),
    lastResort: maybe(BOOLEAN),
    reaches: maybe(OBJECT),
    needsFresh: maybe(FUNCTION),
    required: TEXT,
    run: FUNCTION,
    submit: FUNCTION,
    instead: maybe(FUNCTION),
    again: maybe(FUNCTION),
    repeats: maybe(FUNCTION),
    changes: maybe(FUNCTION),
    merge: maybe(FUNCTION),
  },
  policy: FUNCTION,
  representation: {
    name: TEXT,
    of: {
      is: (of) => of === 'id_token' || /^\/./.test(String(of)),
      words: "a path of an endpoint or 'id_token'",
    },
    applies: FUNCTION,
    render: FUNCTION,
  },
  senderConstraint: {
    scheme: TEXT,
    confirmation: TEXT,
    challenge: maybe(OBJECT),
    metadata: maybe(OBJECT),
    required: maybe(BOOLEAN),
    requestParameter: maybe(TEXT),
    onDemand: maybe(BOOLEAN),
    bind: FUNCTION,
    verify: FUNCTION,
  },
  assurance: { name: TEXT, require: FUNCTION },
  assertionRule: { name: TEXT, narrow: FUNCTION },
  requestObjectRule: { name: TEXT, narrow: FUNCTION },
  proofRule: { name: TEXT, narrow: FUNCTION },
  authenticationDevice: { name: TEXT, reach: FUNCTION },
  signInLink: { name: TEXT, link: FUNCTION },
  signOutWay: { name: TEXT, leave: FUNCTION },
  signOutNotice: { name: TEXT, tell: FUNCTION },
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

/** Throws `ConfigError` for what its door could not ask. */
export function assertOwner(kind: keyof Dispatched, key: string, owner: unknown): void {
  assertShape(`${kind} ${key}`, DISPATCHED[kind], owner)
}

export function assertItem(kind: keyof Ordered, item: unknown): void {
  if (kind !== 'policy') assertShape(whatOf(kind, item), ORDERED[kind], item)
  else if (!FUNCTION.is(item)) throw new ConfigError('A policy must be a function.')
}
