/**
 * All doors, with what is registered at each, for plugins that no compiler reads: what is registered at a misspelt one, or without
 * a member that is asked for, is refused at the start.
 */
import { ConfigError } from '../config.ts'
import { isObject } from '../protocol/json.ts'
import { isAnswer } from './answer.ts'
import type { Grant } from './back-channel.ts'
import type { TObject } from 'typebox'
import type { Caller, Endpoint } from './endpoint.ts'
import type { FailureForm } from './failure-form.ts'
import type { Additive, Dispatched, Ordered } from './kinds.ts'
import type { PluginRecordOptions } from './plugin-records.ts'
import type { RecordOptions } from './user-records.ts'
import {
  assertShape,
  BOOLEAN,
  either,
  FUNCTION,
  maybe,
  MEDIA_TYPE,
  OBJECT,
  oneOf,
  PARAMETERS,
  SCHEMA,
  TEXT,
  TEXTS,
  upTo,
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

const GRANT: Shape<Grant> = {
  type: TEXT,
  parameters: PARAMETERS,
  publicClients: maybe(BOOLEAN),
  members: maybe(TEXTS),
  authorize: FUNCTION,
}
const ENDPOINT: Shape<Endpoint> = {
  path: {
    is: (path) => typeof path === 'string' && /^\/.*[^/]$/.test(path),
    words: "below the issuer's, as '/shelf'",
  },
  method: maybe(oneOf('GET', 'POST', 'PUT', 'PATCH', 'DELETE')),
  metadata: maybe(TEXT),
  caller: maybe(oneOf('client', 'bearer', 'anybody')),
  body: maybe(oneOf('form', 'json')),
  publicClients: maybe(BOOLEAN),
  scopes: maybe(TEXTS),
  requireScope: maybe(FUNCTION),
  cors: maybe(BOOLEAN),
  failures: maybe(OBJECT),
  parameters: PARAMETERS,
  handle: FUNCTION,
}
const FAILURES: Shape<FailureForm> = { type: MEDIA_TYPE, body: FUNCTION }
/** Members that say something of one kind of caller alone: with another they would let in who is not meant. */
const BY_CALLER = [
  ['scopes', 'bearer'],
  ['requireScope', 'bearer'],
  ['publicClients', 'client'],
] as const
const MOST_RECORDS = 100_000
const MOST_OF_USER = 100
const RECORDS: Shape<PluginRecordOptions> = {
  sealed: maybe(BOOLEAN),
  key: maybe(FUNCTION),
  most: maybe(upTo(MOST_RECORDS)),
}
const USER_RECORDS: Shape<RecordOptions> = {
  sealed: maybe(BOOLEAN),
  unique: maybe(BOOLEAN),
  signsIn: maybe({
    is: (given) => BOOLEAN.is(given) || FUNCTION.is(given),
    words: 'true, false or a function',
  }),
  factor: maybe({ is: (given) => BOOLEAN.is(given) || given === 'spare', words: "true, false or 'spare'" }),
  most: maybe(upTo(MOST_OF_USER)),
  describe: maybe(FUNCTION),
}
const RECORD_KIND = /^[a-z][a-z0-9-]{0,63}$/

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
  if (kind !== 'policy') assertShape(named(kind, item), ORDERED[kind], item)
  else if (!FUNCTION.is(item)) throw new ConfigError('A policy must be a function.')
}

export function assertGrant(grant: unknown): void {
  assertShape(named('grant', grant), GRANT, grant)
}

/** What a grant answers with, by whom no compiler reads. Throws `TypeError` with a sentence for the log: who asks for a token can do nothing about it. */
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

export function assertEndpoint(endpoint: unknown): void {
  assertShape(named('endpoint', endpoint), ENDPOINT, endpoint)
  const given = endpoint as Partial<Endpoint<TObject, Caller>>
  if (given.failures !== undefined)
    assertShape(`failures of the endpoint ${given.path}`, FAILURES, given.failures)
  for (const [member, caller] of BY_CALLER)
    if (given[member] !== undefined && (given.caller ?? 'client') !== caller)
      throw new ConfigError(
        `The ${member} of the endpoint ${given.path} is for callers that are ${caller}: its caller is ${given.caller ?? 'client'}.`,
      )
}

/** Of a user or of nobody: a name that can stand anywhere. */
export function assertRecordKind(kind: string): void {
  if (!RECORD_KIND.test(kind))
    throw new ConfigError(`The records ${kind} need a name of small letters, digits and hyphens.`)
}

export function assertRecordOptions(kind: string, options: unknown): void {
  assertShape(`records ${kind}`, RECORDS, options)
}

export function assertUserRecordOptions(kind: string, options: unknown): void {
  assertShape(`records ${kind}`, USER_RECORDS, options)
}

/** By what it says that it is called, if anything. */
function named(kind: string, item: unknown): string {
  const { name, confirmation, type, path } = (item ?? {}) as Readonly<Record<string, unknown>>
  const own = [name, confirmation, type, path].find((one) => typeof one === 'string')
  return own === undefined ? kind : `${kind} ${own}`
}
