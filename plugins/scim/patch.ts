/**
 * Changes of a resource, one after another (RFC 7644 §3.5.2): as the RFC has them, and as Microsoft Entra ID and Okta write them. What comes out is
 * judged as if it had been sent whole.
 */
import {
  attributeOf,
  COMMON,
  isMembers,
  memberOf,
  PRIMARY,
  valuesOf,
  type Attribute,
  type Members,
  type Schema,
  type Value,
} from './attributes.ts'
import { scimError } from './errors.ts'
import { parsePath, type Filter, type Path } from './filter.ts'
import { truthOf, whichFit } from './matching.ts'

/** One of `Operations`. */
export interface Operation {
  readonly op: 'add' | 'replace' | 'remove'
  /** Absent: each member of the value is one. */
  readonly path?: string
  readonly value?: Value
}

const OPERATIONS = ['add', 'replace', 'remove'] as const
const MOST = 100
/** Of one attribute: each change looks at all of them. */
const MOST_VALUES = 100

/** Throws `invalidSyntax`, `invalidValue` and `noTarget`. */
export function operationsOf(body: Members): readonly Operation[] {
  const operations = memberOf(body, 'Operations')
  // None at all change nothing: Microsoft's SCIM Validator sends that, though the RFC wants one (github.com/scimmyjs/scimmy/issues/59).
  if (!Array.isArray(operations)) throw scimError('invalidSyntax', 'Operations must be a list of changes')
  if (operations.length > MOST)
    throw scimError('tooMany', `there are more than ${MOST} changes in one request`)
  return operations.map(operationOf)
}

function operationOf(one: Value): Operation {
  if (!isMembers(one)) throw scimError('invalidSyntax', 'each of the Operations must be an object')
  const [sent, value] = [memberOf(one, 'op'), memberOf(one, 'value')]
  const path = memberOf(one, 'path') ?? undefined
  const op = OPERATIONS.find((known) => typeof sent === 'string' && known === sent.toLowerCase())
  if (op === undefined) throw scimError('invalidSyntax', 'op must be add, replace or remove')
  if (path !== undefined && typeof path !== 'string') throw scimError('invalidPath', 'path must be a text')
  if (op !== 'remove' && value === undefined) throw scimError('invalidValue', `${op} needs a value`)
  if (op === 'remove' && path === undefined) throw scimError('noTarget', 'remove needs a path')
  return { op, ...(path === undefined ? {} : { path }), value }
}

/** What is always there, so that nobody means it to be taken away. */
const LASTING: ReadonlySet<string> = new Set(['userName', 'active'])

export interface PatchOptions {
  readonly schema: Schema
  /** Whether a path is of an attribute that is none of ours, and none that somebody mistook: what is done to it is ignored. */
  isForeign(path: string): boolean
}

/** `resource` as it is after all of these. Throws `invalidPath`, `invalidFilter`, `invalidValue`, `mutability` and `noTarget`. */
export function patched(resource: Members, operations: readonly Operation[], options: PatchOptions): Members {
  return operations.reduce((had, operation) => applied(had, operation, options), resource)
}

function applied(had: Members, { op, path, value }: Operation, options: PatchOptions): Members {
  if (path !== undefined) {
    if (options.isForeign(path)) return had
    const target = parsePath(options.schema, path)
    if (op === 'remove' && LASTING.has(target.attribute.name))
      throw scimError('mutability', `${target.attribute.name} cannot be taken away: replace it`)
    return changed(had, op, target, value)
  }
  const members = soleOf(value)
  if (!isMembers(members)) throw scimError('invalidValue', `${op} without a path needs an object`)
  return Object.entries(members).reduce((before, [name, given]) => {
    // Whoever sends what they read means no change of what cannot be changed.
    const { mutability } = attributeOf(COMMON, name) ?? {}
    if (mutability === 'readOnly' || options.isForeign(name)) return before
    return changed(before, op, parsePath(options.schema, name), given)
  }, had)
}

/** Some put the one value that they mean in a list. */
function soleOf(value: Value): Value {
  return Array.isArray(value) && value.length === 1 ? (value as readonly Value[])[0] : value
}

function changed(had: Members, op: Operation['op'], path: Path, value: Value): Members {
  const { attribute } = path
  if (attribute.mutability === 'readOnly')
    throw scimError('mutability', `${attribute.name} cannot be changed`)
  const now =
    attribute.multiValued === true
      ? severalChanged(had, op, path, value)
      : oneChanged(had, op, path, soleOf(value))
  const { [attribute.name]: _former, ...rest } = had
  return now === undefined ? rest : { ...rest, [attribute.name]: now }
}

/** The value of an attribute that has one; undefined where none is left. */
function oneChanged(had: Members, op: Operation['op'], { attribute, sub }: Path, value: Value): Value {
  const before = had[attribute.name]
  if (sub !== undefined) return withSub(isMembers(before) ? before : {}, sub, op, value)
  if (op === 'remove') return undefined
  // What is not said of a complex value stays (§3.5.2.3).
  if (attribute.type !== 'complex' || value === null) return value
  return merged(attribute, isMembers(before) ? before : {}, value)
}

function withSub(complex: Members, sub: Attribute, op: Operation['op'], value: Value): Members | undefined {
  const { [sub.name]: _former, ...rest } = complex
  if (op !== 'remove' && value !== null) return { ...rest, [sub.name]: value }
  return Object.keys(rest).length > 0 ? rest : undefined
}

function merged({ name, subAttributes = [] }: Attribute, before: Members, value: Value): Members {
  if (!isMembers(value)) throw scimError('invalidValue', `${name} must be an object`)
  const told = Object.entries(value).map(([sub, given]) => [
    attributeOf(subAttributes, sub)?.name ?? sub,
    given,
  ])
  return { ...before, ...Object.fromEntries(told) }
}

/** The values of an attribute that has several; undefined where none is left. */
function severalChanged(
  had: Members,
  op: Operation['op'],
  path: Path,
  value: Value,
): readonly Value[] | undefined {
  const { attribute, sub, which } = path
  const before = valuesOf(had[attribute.name])
  assertFew(valuesOf(value), attribute)
  const left =
    which !== undefined || sub !== undefined
      ? someChanged(before, op, path, soleOf(value))
      : op === 'remove'
        ? withoutThese(before, value)
        : op === 'replace'
          ? valuesOf(value)
          : withThese(before, valuesOf(value))
  assertFew(left, attribute)
  return left.length > 0 ? left : undefined
}

function assertFew({ length }: readonly Value[], { name }: Attribute): void {
  if (length > MOST_VALUES) throw scimError('invalidValue', `${name} has more than ${MOST_VALUES} values`)
}

/** §3.5.2.1: what is there already is not there twice, and what is added as the primary one is the only one. */
function withThese(before: readonly Value[], added: readonly Value[]): readonly Value[] {
  const known = new Set(before.map((one) => JSON.stringify(one)))
  const fresh = added.filter((one) => !known.has(JSON.stringify(one)))
  const takesOver = fresh.some((one) => isMembers(one) && memberOf(one, 'primary') === true)
  const kept = takesOver ? before.map((one) => (isMembers(one) ? { ...one, primary: false } : one)) : before
  return [...kept, ...fresh]
}

/** All of them; or those of these values, as Microsoft Entra ID removes one of several. */
function withoutThese(before: readonly Value[], value: Value): readonly Value[] {
  const removed = new Set(valuesOf(value).map(valueIn))
  return removed.size === 0 ? [] : before.filter((one) => !removed.has(valueIn(one)))
}

function valueIn(one: Value): Value {
  return isMembers(one) ? memberOf(one, 'value') : one
}

/** Those that a filter in brackets finds; all of them without one. */
function someChanged(
  before: readonly Value[],
  op: Operation['op'],
  { attribute, sub, which }: Path,
  value: Value,
): readonly Value[] {
  const meant = which === undefined ? before : whichFit(which, { attribute }, { [attribute.name]: before })
  const isMeant = (one: Value): boolean => meant.includes(one)
  const changeOf = (one: Value): readonly Value[] => {
    if (!isMeant(one)) return [one]
    const complex = isMembers(one) ? one : { value: one }
    if (sub !== undefined) return [withSub(complex, sub, op, value)].filter((left) => left !== undefined)
    return op === 'remove' ? [] : [merged(attribute, complex, value)]
  }
  if (op === 'remove' || meant.length > 0) return before.flatMap(changeOf)
  // Whoever writes the only value of a type means one that is not there yet, too.
  const begun = which === undefined ? {} : described(which)
  // Of several, none of which is said to be the primary one, it is not that one more is.
  if (begun === undefined || (begun[PRIMARY.name] === true && before.length > 0))
    throw scimError('noTarget', `no value of ${attribute.name} is as the path says`)
  const made = sub === undefined ? merged(attribute, begun, value) : withSub(begun, sub, op, value)
  return made === undefined ? before : [...before, made]
}

/** The value that a filter describes by what is equal in it; undefined for any other one. */
function described(filter: Filter): Members | undefined {
  if ('all' in filter) {
    const parts = filter.all.map((one) => described(one))
    return parts.every((part) => part !== undefined) ? Object.assign({}, ...parts) : undefined
  }
  if (!('place' in filter) || filter.is !== 'eq' || filter.place.sub === undefined) return undefined
  const { name, type } = filter.place.sub
  return { [name]: type === 'boolean' ? truthOf(filter.value) : filter.value }
}
