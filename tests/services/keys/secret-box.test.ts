import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSecretBox } from '../../../src/services/keys/secret-box.ts'

const OLD = 'o'.repeat(32)
const NEW = 'n'.repeat(32)
const old = createSecretBox([OLD])
const both = createSecretBox([NEW, OLD])
const only = createSecretBox([NEW])

test('what is sealed is opened again in the same context, and looks different each time', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (plaintext, context) => {
      expect(old.open(old.seal(plaintext, context), context)).toBe(plaintext)
    }),
  )
  expect(old.seal('a', 'k')).not.toBe(old.seal('a', 'k'))
})

test('another context, and any changed character, is refused', () => {
  const sealed = old.seal('a private key', 'kid-1')
  expect(() => old.open(sealed, 'kid-2')).toThrow(Error)
  for (let at = 0; at < sealed.length - 1; at++) {
    const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1)
    expect(() => old.open(changed, 'kid-1')).toThrow(Error)
  }
  for (const malformed of ['', '.', 'a.b', sealed.slice(0, 20), `${sealed.split('.')[0]}.`])
    expect(() => old.open(malformed, 'kid-1')).toThrow(Error)
})

test('what is too short for all its parts is refused, though they would fit where they lie over each other', () => {
  const shared = (sealed: string): Buffer | null => {
    const bytes = Buffer.from(sealed.split('.')[1]!, 'base64url')
    return bytes[11] === bytes[12] ? bytes : null
  }
  let bytes: Buffer | null = null
  while (bytes === null) bytes = shared(old.seal('', 'k'))
  const id = old.seal('', 'k').split('.')[0]!
  const overlapping = Buffer.concat([bytes.subarray(0, 11), bytes.subarray(12)]).toString('base64url')
  expect(() => old.open(`${id}.${overlapping}`, 'k')).toThrow('cannot be decrypted')
  expect(old.open(`${id}.${bytes.toString('base64url')}`, 'k')).toBe('')
})

test('a new first key opens and matches what the former one made, and knows that it is not current', () => {
  const [sealed, hash] = [old.seal('a', 'k'), old.hash('secret')]
  expect([both.open(sealed, 'k'), both.matches('secret', hash), both.matches('other', hash)]).toEqual([
    'a',
    true,
    false,
  ])
  expect([both.isCurrent(sealed), both.isCurrent(hash)]).toEqual([false, false])
  expect([both.isCurrent(both.seal('a', 'k')), both.isCurrent(both.hash('secret'))]).toEqual([true, true])
  expect(both.hash('secret')).toBe(only.hash('secret'))
  expect(both.hashes('secret')).toEqual([only.hash('secret'), hash])
})

test('without the former key nothing of it opens or matches', () => {
  expect(() => only.open(old.seal('a', 'k'), 'k')).toThrow('put the key it was made with into the list')
  expect(only.matches('secret', old.hash('secret'))).toBe(false)
  for (const malformed of ['', '.', 'a.b', old.hash('secret').split('.')[0]!])
    expect(old.matches('secret', malformed)).toBe(false)
})

test('neither a hash nor a sealed value holds what it was made of', () => {
  for (const made of [old.hash('a-secret-value'), old.seal('a-secret-value', 'k')]) {
    expect(made).not.toContain(OLD)
    expect(Buffer.from(made.split('.')[1]!, 'base64url').toString('latin1')).not.toContain('a-secret-value')
  }
})

test('a box needs a key', () => {
  expect(() => createSecretBox([])).toThrow('needs a key')
})
