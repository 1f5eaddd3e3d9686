/**
 * What parameters give beside scopes (`Parameter.resources`): a request that has any needs no scope, its tokens are for the resources
 * that it names, and each says only what of it is for its own.
 */
import type { Parameter } from '../../doors/approval.ts'
import type { Granted } from '../../doors/facts.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import type { Bag } from '../../protocol/bag.ts'
import { keptAs } from './request-parameters.ts'

export interface GivenBeside {
  /** The resources where these parameters of a request give something, by the parameters' names; undefined where none gives any. */
  asked(parameters: Bag): readonly string[] | undefined
  /** The same of what lives on, by the names under which it does. */
  kept(parameters: Bag | undefined): readonly string[] | undefined
  /** For a token of these resources: without what is for others. The same object where all of it is for them. */
  within(granted: Granted, resources: readonly string[]): Granted
}

interface Giver {
  readonly name: string
  readonly as: string
  readonly resources: NonNullable<Parameter['resources']>
  readonly within: Parameter['within']
}

const NONE: Bag = Object.freeze({})

/** @internal */
export function createGivenBeside(doors: DoorRegistry): GivenBeside {
  let known: readonly Giver[] | undefined
  const givers = (): readonly Giver[] => (known ??= doors.all('parameter').flatMap(giverOf))

  function named(parameters: Bag, nameOf: (giver: Giver) => string): readonly string[] | undefined {
    const found = givers().filter((giver) => parameters[nameOf(giver)] !== undefined)
    return found.length === 0
      ? undefined
      : found.flatMap((giver) => giver.resources(parameters[nameOf(giver)]))
  }

  return {
    asked: (parameters) => named(parameters, ({ name }) => name),
    kept: (parameters) => (parameters === undefined ? undefined : named(parameters, ({ as }) => as)),
    within(granted, resources) {
      const { parameters = NONE, approvedParameters = parameters } = granted
      let left: Record<string, unknown> = parameters
      for (const { as, within } of givers()) {
        if (within === undefined || left[as] === undefined) continue
        const part = within(left[as], resources)
        if (part === left[as]) continue
        if (left === parameters) left = { ...parameters }
        if (part === undefined) delete left[as]
        else left[as] = part
      }
      return left === parameters ? granted : { ...granted, parameters: left, approvedParameters }
    },
  }
}

function giverOf(parameter: Parameter): Giver[] {
  const { name, resources, within } = parameter
  return resources === undefined ? [] : [{ name, as: keptAs(parameter), resources, within }]
}
