/**
 * The registered parameters of requests for approval: read where something is asked for, and read again where a token
 * request asks for less of what was approved.
 */
import type { Parameter } from '../../doors/approval.ts'
import type { Call } from '../../doors/back-channel.ts'
import type { Client } from '../../doors/client.ts'
import type { Granted } from '../../doors/facts.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import type { Bag } from '../../protocol/bag.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { isStorable } from '../../protocol/json.ts'
import { compileParameters } from '../../protocol/parameters.ts'
import { Type } from '../../protocol/schema.ts'
import type { Wire } from '../../protocol/wire.ts'

export interface RequestParameters {
  /** What they make of the wire, by their names. Throws `OAuthError`. */
  parse(wire: Wire, client: Client): Promise<Bag>
  /** What of the wire a client gets that acts for itself (`Parameter.forItself`), by the names under which it lives on. Throws `OAuthError`. */
  forItself(wire: Wire, client: Client): Bag | Promise<Bag>
  /**
   * What is granted, less what the token request leaves out of it; the same object where it says nothing. Throws
   * `OAuthError`.
   */
  narrow(granted: Granted, call: Pick<Call, 'client' | 'wire'>): Granted | Promise<Granted>
}

interface Reader {
  readonly parameter: Parameter
  read(wire: Wire, client: Client): Promise<unknown>
}
/** One that may be sent with a token request, and where what was approved of it stands. */
interface Narrower extends Reader {
  readonly as: string
  readonly narrow: NonNullable<Parameter['narrow']>
}

/** One that a client may send which acts for itself. */
interface Own extends Reader {
  readonly as: string
  readonly forItself: NonNullable<Parameter['forItself']>
}

const NONE: Bag = Object.freeze({})

/** @internal */
export function createRequestParameters(doors: DoorRegistry): RequestParameters {
  let readers: readonly Reader[] | undefined
  let narrowers: readonly Narrower[] | undefined
  let own: readonly Own[] | undefined

  async function narrowed(
    granted: Granted,
    { client, wire }: Pick<Call, 'client' | 'wire'>,
    sent: readonly Narrower[],
  ): Promise<Granted> {
    const { parameters: approved = {} } = granted
    const parameters: Record<string, unknown> = { ...approved }
    for (const { as, narrow, read } of sent) {
      const value = narrow(approved[as], await read(wire, client), client)
      if (value === undefined) delete parameters[as]
      else parameters[as] = value
    }
    return { ...granted, parameters, approvedParameters: granted.approvedParameters ?? approved }
  }

  async function ownParameters(wire: Wire, client: Client, sent: readonly Own[]): Promise<Bag> {
    const parameters: Record<string, unknown> = {}
    for (const { as, forItself, read } of sent) parameters[as] = forItself(await read(wire, client), client)
    return parameters
  }

  return {
    async parse(wire, client) {
      readers ??= doors.all('parameter').map(readerOf)
      const parameters: Record<string, unknown> = {}
      for (const { parameter, read } of readers) {
        const value = await read(wire, client)
        if (value !== undefined) parameters[parameter.name] = value
      }
      return parameters
    },
    forItself(wire, client) {
      own ??= doors.all('parameter').flatMap(ownOf)
      const sent = own.filter(({ parameter }) => wire[parameter.name] !== undefined)
      return sent.length === 0 ? NONE : ownParameters(wire, client, sent)
    },
    narrow(granted, call) {
      narrowers ??= doors.all('parameter').flatMap(narrowersOf)
      if (narrowers.length === 0) return granted
      const sent = narrowers.filter(({ parameter }) => call.wire[parameter.name] !== undefined)
      return sent.length === 0 ? granted : narrowed(granted, call, sent)
    },
  }
}

function readerOf(parameter: Parameter): Reader {
  const { name, schema, parse } = parameter
  const check = compileParameters(Type.Object({ [name]: Type.Optional(schema) })) as (
    wire: Wire,
  ) => Record<string, Wire[string]>
  return {
    parameter,
    async read(wire, client) {
      const raw = check(wire)[name]
      if (parse === undefined) return raw
      const value = await parse(raw, client, wire)
      // A form holds neither; what is decoded from its text may, and would fail once people have approved it.
      if (value !== raw && value !== undefined && !isStorable(value))
        throw new OAuthError('invalid_request', `the parameter ${name} must not hold NUL or broken Unicode`)
      return value
    },
  }
}

function narrowersOf(parameter: Parameter): Narrower[] {
  const { narrow } = parameter
  return narrow === undefined ? [] : [{ ...readerOf(parameter), narrow, as: keptAs(parameter) }]
}

function ownOf(parameter: Parameter): Own[] {
  const { forItself } = parameter
  return forItself === undefined ? [] : [{ ...readerOf(parameter), forItself, as: keptAs(parameter) }]
}

/** The name under which its value lives on. */
export function keptAs({ name, kept }: Parameter): string {
  return typeof kept === 'string' ? kept : name
}
