import { expect, test } from 'vitest'
import {
  addressKey,
  addressForms,
  isMailAddress,
  parseSender,
  parseSmtpUrl,
} from '../../src/protocol/mail-address.ts'

test.each(['a@b', 'alice@example.com', 'o’neil+tag@bücher.example', 'a.b-c_d@[2001-db8]'.replace(/\[|\]/g, '')])(
  '%s may be an address',
  (text) => expect(isMailAddress(text)).toBe(true),
) // prettier-ignore

test.each(['', 'alice', '@b', 'a@', 'a@b@c', 'a b@c', 'a@b, c@d', '<a@b>', 'a@b\r\nBcc: c@d', 'a@b\u0000', '"a"@b', `${'a'.repeat(65)}@b`, `a@${'b'.repeat(191)}`])(
  '%j is none',
  (text) => expect(isMailAddress(text)).toBe(false),
) // prettier-ignore

test.each([
  ['login@example.com', { name: '', address: 'login@example.com' }],
  ['Example <login@example.com>', { name: 'Example', address: 'login@example.com' }],
  [' Grüße, Inc. <a@b> ', { name: 'Grüße, Inc.', address: 'a@b' }],
  ['<a@b>', { name: '', address: 'a@b' }],
  ['Example', null],
  ['Example <nobody>', null],
  ['A <a@b> <c@d>', null],
  ['A\nBcc: x <a@b>', null],
])('%j comes from %j', (text, sender) => expect(parseSender(text)).toEqual(sender))

const server = { host: 'mail.example', port: 587, secure: false, credentials: null }
test.each([
  ['smtp://mail.example', server],
  ['smtp://mail.example:25/', { ...server, port: 25 }],
  ['smtps://mail.example', { ...server, port: 465, secure: true }],
  ['smtp://[::1]:2525', { ...server, host: '::1', port: 2525 }],
  ['smtp://a%40b:p%3Aq%2F@mail.example', { ...server, credentials: { user: 'a@b', pass: 'p:q/' } }],
  ['http://mail.example', null],
  ['mail.example', null],
  ['smtp://', null],
  ['smtp://mail.example/path', null],
  ['smtp://mail.example?pool=true', null],
  ['smtp://mail.example#x', null],
  ['smtp://user@mail.example', null],
  ['smtp://user:%zz@mail.example', null],
  ['smtp://ma il', null],
])('%j is the server %j', (text, expected) => expect(parseSmtpUrl(text)).toEqual(expected))

test.each([
  ['A@bücher.example', 'a@xn--bcher-kva.example'],
  ['a@BÜCHER.example', 'a@xn--bcher-kva.example'],
  ['a@bu\u0308cher.example', 'a@xn--bcher-kva.example'],
  ['a@ｂücher。example', 'a@xn--bcher-kva.example'],
  ['a@xn--BCHER-kva.example', 'a@xn--bcher-kva.example'],
  ['a@ⓔxample.com', 'a@example.com'],
  ['a@exam\u034fple.com', 'a@example.com'],
  ['a@Example.com.', 'a@example.com'],
  [' Ünï@example.com', 'ünï@example.com'],
  ['ａ@example.com', 'ａ@example.com'],
  ['a@ΟΔΟΣ.example', addressKey('a@οδοσ.example')],
  ['a@%65é.example', 'a@%65é.example'],
  ['a@1.2', 'a@1.2'],
  ['a@é..\u200d.x', 'a@é..\u200d.x'],
  ['alice', 'alice'],
  ['\0@b', null],
])('%j is compared as %j', (address, key) => {
  expect(addressKey(address)).toBe(key)
  expect(addressKey(addressKey(address) ?? '')).toBe(key)
})

test('an address is looked for as it is compared, as it was typed and as people read it', () => {
  expect(addressForms('A@ｂücher.example')).toEqual(['a@xn--bcher-kva.example', 'a@ｂücher.example', 'a@bücher.example'])
  expect(addressForms('A@Example.com')).toEqual(['a@example.com'])
  expect(addressForms('')).toEqual([])
}) // prettier-ignore
