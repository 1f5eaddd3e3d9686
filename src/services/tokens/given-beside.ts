/**
 * What parameters give beside scopes (`Parameter.resources`): a request that has any needs no scope, its tokens are for the resources
 * that it names, and each says only what of it is for its own, and may be given still.
 */
import type { Parameter } from '../../doors/approval.ts'
import type { Client } from '../../doors/client.ts'
import type { Granted } from '../../doors/facts.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import type { Bag } from '../../protocol/bag.ts'
import { keptAs } from './request-parameters.ts'

export interface GivenBeside {
  /** The resources where these parameters of a request give something, by the parameters' names; undefined where none gives any. */
  asked(parameters: Bag): readonly string[] | undefined
  /** The same of what lives on, by the names under which it does. */
  kept(parameters: Bag | undefined): readonly string[] | undefined
  /** Of a request that has waited for people: without what its client may have no more. The same object where that is nothing. */
  review(parameters: Bag, client: Client): Bag
  /** The same of what was granted. */
  reviewGranted(granted: Granted, client: Client): Granted
  /** For a token of these resources: without what is for others. The same object where all of it is for them. */
  within(granted: Granted, resources: readonly string[]): Granted
}

interface Giver {
  readonly name: string
  readonly as: string
  readonly resources: NonNullable<Parameter['resources']>
  readonly within: Parameter['within']
  readonly review: Parameter['review']
}

/** What is left of the value of one. */
type PartOf = (giver: Giver, value: unknown) => unknown
const nameOf = ({ name }: Giver): string => name
const keptNameOf = ({ as }: Giver): string => as

const NONE: Bag = Object.freeze({})

/** @internal */
export function createGivenBeside(doors: DoorRegistry): GivenBeside {
  let known: readonly Giver[] | undefined
  const givers = (): readonly Giver[] => (known ??= doors.all('parameter').flatMap(giverOf))

  function named(parameters: Bag, called: typeof nameOf): readonly string[] | undefined {
    const found = givers().filter((giver) => parameters[called(giver)] !== undefined)
    return found.length === 0
      ? undefined
      : found.flatMap((giver) => giver.resources(parameters[called(giver)]))
  }

  /** The same object where nothing is left out. */
  function partsOf(parameters: Bag, called: typeof nameOf, partOf: PartOf): Bag {
    let left: Record<string, unknown> = parameters
    for (const giver of givers()) {
      const name = called(giver)
      if (left[name] === undefined) continue
      const part = partOf(giver, left[name])
      if (part === left[name]) continue
      if (left === parameters) left = { ...parameters }
      if (part === undefined) delete left[name]
      else left[name] = part
    }
    return left
  }

  function grantedParts(granted: Granted, partOf: PartOf): Granted {
    const { parameters = NONE, approvedParameters = parameters } = granted
    const left = partsOf(parameters, keptNameOf, partOf)
    return left === parameters ? granted : { ...granted, parameters: left, approvedParameters }
  }

  const reviewedFor =
    (client: Client): PartOf =>
    ({ review }, value) =>
      review === undefined ? value : review(value, client)

  return {
    asked: (parameters) => named(parameters, nameOf),
    kept: (parameters) => (parameters === undefined ? undefined : named(parameters, keptNameOf)),
    review: (parameters, client) => partsOf(parameters, nameOf, reviewedFor(client)),
    reviewGranted: (granted, client) => grantedParts(granted, reviewedFor(client)),
    within: (granted, resources) =>
      grantedParts(granted, ({ within }, value) => (within === undefined ? value : within(value, resources))),
  }
}

function giverOf(parameter: Parameter): Giver[] {
  const { name, resources, within, review } = parameter
  return resources === undefined ? [] : [{ name, as: keptAs(parameter), resources, within, review }]
}
