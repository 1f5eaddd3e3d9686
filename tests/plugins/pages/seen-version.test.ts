import { expect, test } from 'vitest'
import { seenVersion } from '../../../plugins/pages/seen-version.ts'

const stored = { client_name: 'Reports', scope: 'a b' }

test('another version of the server, whose form has other fields in another order, sees the same', () => {
  const seen = seenVersion(stored)
  expect(seenVersion({ scope: 'a b', client_name: 'Reports' })).toBe(seen)
  expect(seenVersion({ logo_uri: '', ...stored, contacts: '' })).toBe(seen)
})

test.each([
  { ...stored, scope: 'a' },
  { ...stored, logo_uri: 'https://app.example/logo.svg' },
  { client_name: 'Reports', scope: '' },
  { client_name: 'a b', scope: 'Reports' },
])('%j is not what was seen', (now) => {
  expect(seenVersion(now)).not.toBe(seenVersion(stored))
})
