/** Our own `Type` makes what TypeBox's makes, so that schemas of plugins and ours go into each other. */
import { Type as TypeBox } from 'typebox'
import { Check } from 'typebox/value'
import { expect, test } from 'vitest'
import { inEnglish, isMessage } from '../../src/protocol/message.ts'
import { checkOf, misfitOf, Type } from '../../src/protocol/schema.ts'

/** All of an object, hidden properties too, however deep. */
function inside(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(inside)
  return Object.fromEntries(
    Object.entries(Object.getOwnPropertyDescriptors(value))
      .map(([name, { value: one, enumerable }]) => [name, [enumerable, inside(one)]] as const)
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  )
}

const MADE = {
  String: (T: typeof Type) => T.String({ maxLength: 3, description: 'short' }),
  Boolean: (T: typeof Type) => T.Boolean(),
  Integer: (T: typeof Type) => T.Integer({ minimum: 1 }),
  Number: (T: typeof Type) => T.Number({ maximum: 1.5 }),
  Enum: (T: typeof Type) => T.Enum(['a', 'b']),
  Array: (T: typeof Type) => T.Array(T.String(), { maxItems: 2 }),
  Optional: (T: typeof Type) => T.Optional(T.String({ pattern: '^a' })),
  Object: (T: typeof Type) => T.Object({ a: T.String(), b: T.Optional(T.Boolean()) }, { description: 'd' }),
  'Object of nothing that must be': (T: typeof Type) => T.Object({ b: T.Optional(T.Boolean()) }),
  Partial: (T: typeof Type) => T.Partial(T.Object({ a: T.String(), b: T.Optional(T.Boolean()) })),
}

test.each(Object.entries(MADE))('%s is what TypeBox makes of it', (_name, make) => {
  expect(inside(make(Type))).toEqual(inside(make(TypeBox)))
})

test('TypeBox makes more of ours, and ours more of its', () => {
  const ours = Type.Object({ a: Type.String(), theirs: TypeBox.Union([TypeBox.Literal(1), TypeBox.Null()]) })
  const theirs = TypeBox.Intersect([ours, TypeBox.Object({ b: Type.Optional(Type.Integer()) })])
  for (const [value, fits] of [
    [{ a: '', theirs: null }, true],
    [{ a: '', theirs: 1, b: 2 }, true],
    [{ a: '', theirs: 2 }, false],
    [{ theirs: 1 }, false],
    [{ a: '', theirs: 1, b: 'x' }, false],
  ] as const) {
    expect([value, Check(theirs, value)]).toEqual([value, fits])
    expect([value, misfitOf(theirs, value) === undefined]).toEqual([value, fits])
  }
})

test('what only TypeBox knows counts, also inside of ours', () => {
  const even = TypeBox.Refine(TypeBox.String(), (text) => text.length % 2 === 0)
  for (const schema of [
    Type.Object({ even }),
    Type.Partial(Type.Object({ even })),
    TypeBox.Object({ even }),
  ]) {
    expect(misfitOf(schema, { even: 'ab' })).toBeUndefined()
    expect(misfitOf(schema, { even: 'abc' })).toMatchObject({ instancePath: '/even' })
  }
  expect(misfitOf(Type.Object({ even }), {})).toMatchObject({ keyword: 'required', missing: 'even' })
  expect(() => checkOf(Type.Object({ never: TypeBox.String({ pattern: '(' }) }))).toThrow(
    'regular expression',
  )
})

test('two of one `$id` are two', () => {
  for (const maxLength of [1, 2])
    expect(misfitOf(Type.String({ $id: 'one', maxLength }), 'ab') === undefined).toBe(maxLength === 2)
})

test('the first reason, as a phrase, and where', () => {
  const schema = MADE.Object(Type)
  expect(misfitOf(schema, { a: 'a', other: 1 })).toBeUndefined()
  expect(misfitOf(schema, {})).toMatchObject({ keyword: 'required', missing: 'a' })
  expect(misfitOf(schema, { a: 1 })).toMatchObject({ instancePath: '/a', message: 'must be string' })
  expect(misfitOf(MADE.String(Type), 'long')).toMatchObject({
    instancePath: '',
    message: 'must not have more than 3 characters',
  })
})

test.each([
  [Type.String(), 1],
  [Type.Boolean(), 1],
  [Type.Integer(), 'a'],
  [Type.Number(), 'a'],
  [Type.Array(Type.String()), 1],
  [Type.Object({}), 1],
  [Type.String({ maxLength: 3 }), 'long'],
  [Type.String({ minLength: 3 }), 'a'],
  [Type.Number({ minimum: 3 }), 1],
  [Type.Number({ maximum: 3 }), 5],
  [Type.Enum(['a']), 'b'],
])('%j is told of %j in words that are the same in English', (schema, value) => {
  const { message, words } = misfitOf(schema, value)!
  expect([isMessage(words), inEnglish(words)]).toEqual([true, message])
})
