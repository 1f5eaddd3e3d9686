import { inEnglish } from '../../src/protocol/message.ts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isLoopbackHost, redirectUriCaution, redirectUriProblem } from '../../src/protocol/redirect-uri.ts'

test.each([
  'https://client.example',
  'https://client.example/cb?a=b&c=d',
  'https://client.example:8443/cb',
  'HTTPS://client.example/cb',
  'http://localhost/cb',
  'http://localhost:3000',
  'http://127.0.0.1:1/cb',
  'http://127.1.2.3/cb',
  'http://[::1]:3000/cb',
  'com.example.app:/cb',
  'com.example.app://cb',
  'myapp://cb',
])('may be registered: %s', (uri) => {
  expect(redirectUriProblem(uri)).toBeUndefined()
})

test.each([
  ['cb', 'absolute'],
  ['/cb', 'absolute'],
  ['//client.example/cb', 'absolute'],
  ['', 'absolute'],
  ['https:', 'absolute'],
  ['https:/client.example', 'absolute'],
  ['https:client.example', 'absolute'],
  ['https:///cb', 'absolute'],
  ['https://client.example/cb#', 'fragment'],
  ['https://client.example/#a', 'fragment'],
  ['com.example.app:/cb#a', 'fragment'],
  ['javascript:alert(1)', 'scheme javascript:'],
  ['JavaScript:alert(1)', 'scheme javascript:'],
  ['javascript://client.example/%0aalert(1)', 'scheme javascript:'],
  ['data:text/html,x', 'scheme data:'],
  ['vbscript:x', 'scheme vbscript:'],
  ['file:///etc/passwd', 'scheme file:'],
  ['blob:https://client.example/x', 'scheme blob:'],
  ['about:blank', 'scheme about:'],
  ['https://user@client.example/cb', 'user name'],
  ['https://user:pass@client.example/cb', 'user name'],
  ['https://*.client.example/cb', 'wildcard'],
  ['myapp:cb', 'scheme that the app owns'],
  ['localhost:4311/callback', 'must begin with http:// or https://, as in http://localhost:4311/callback'],
  ['localhost:/callback', 'as in http://localhost:/callback'],
  ['localhost/callback', 'as in http://localhost/callback'],
  ['127.0.0.1:4311/cb', 'as in http://127.0.0.1:4311/cb'],
  ['shop:8080/cb', 'as in https://shop:8080/cb'],
  [`localhost:1/${'a'.repeat(1000)}`, `as in http://localhost:1/${'a'.repeat(188)}`],
  ['https://client.example/a b', 'characters'],
  ['https://client.example/\u00e9', 'characters'],
  ['https://client.example\\@evil.example', 'characters'],
  ['https://client.example/\r\nx', 'characters'],
  ['\u0000https://client.example', 'characters'],
  [' https://client.example', 'characters'],
  [`https://client.example/${'a'.repeat(2048)}`, 'longer'],
])('may not be registered: %j (%s)', (uri, reason) => {
  const problem = redirectUriProblem(uri)
  expect({ ...problem, reason: inEnglish(problem?.reason ?? '') }).toEqual({
    reason: expect.stringContaining(reason),
  })
})

test.each([
  'ftp://client.example/cb', 'FTP://client.example/cb', 'sftp://client.example/cb', 'ws://client.example/cb',
  'wss://client.example/cb', 'intent://client.example/cb#Intent;end', 'intent://client.example/cb', 'data:text/html,x',
  'data://x', 'filesystem:https://client.example/x', 'view-source:https://client.example/', 'mailto://a@client.example',
  'tel://1', 'sms://1', 'ssh://client.example', 'chrome://settings', 'content://client.example/x', 'urn:ietf:wg:oauth:2.0:oob',
])('of a scheme that is no app\'s own: %s', (uri) => {
  expect(inEnglish(redirectUriProblem(uri)?.reason ?? '')).toContain('must not use the scheme')
}) // prettier-ignore

test('a scheme without a dot may be registered by somebody who is warned, one with a dot by anybody', () => {
  for (const uri of ['vscode://vscode.github-authentication/did-authenticate', 'cursor://cb', 'MyApp://cb'])
    expect([uri, redirectUriProblem(uri), redirectUriCaution(uri)]).toEqual([
      uri,
      undefined,
      expect.stringMatching(/^has (?:vscode|cursor|myapp):, a scheme without a dot, which another app/),
    ])
  for (const uri of ['com.example.app:/cb', 'https://client.example/cb', 'http://127.0.0.1/cb', 'javascript:alert(1)', 'cb', ''])
    expect([uri, redirectUriCaution(uri)]).toEqual([uri, undefined])
}) // prettier-ignore

test.each([
  'http://client.example/cb',
  'http://127.0.0.1.evil.example',
  'http://localhost.evil.example',
  'http://0.0.0.0/',
  'http://10.0.0.1/',
])('is insecure, which only a development start may take: %s', (uri) => {
  expect(redirectUriProblem(uri)).toMatchObject({ insecure: true })
})

test('what may be registered is a URL without fragment or user, and never of a dangerous scheme', () => {
  const scheme = fc.constantFrom('https', 'http', 'javascript', 'JAVASCRIPT', 'data', 'com.example', 'x', '')
  const rest = fc.oneof(fc.webUrl({ withFragments: true }), fc.string({ unit: 'binary', maxLength: 30 }))
  fc.assert(
    fc.property(scheme, rest, fc.constantFrom(':', '://', ''), (one, two, between) => {
      const uri = one + between + two
      fc.pre(redirectUriProblem(uri) === undefined)
      const url = new URL(uri)
      expect([url.hash, url.username, url.password]).toEqual(['', '', ''])
      expect(['javascript:', 'data:']).not.toContain(url.protocol)
    }),
    { numRuns: 500 },
  )
})

test('loopback is this machine and nothing that looks like it', () => {
  for (const host of ['localhost', '127.0.0.1', '127.255.0.1', '::1', '[::1]'])
    expect(isLoopbackHost(host)).toBe(true)
  for (const host of [
    '',
    '0.0.0.0',
    '128.0.0.1',
    '127.0.0.1.example',
    'localhost.',
    'localhost.example',
    '::',
    '1127.0.0.1',
    '::ffff:127.0.0.1',
  ])
    expect([host, isLoopbackHost(host)]).toEqual([host, false])
})
