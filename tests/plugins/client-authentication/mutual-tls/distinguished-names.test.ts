/** Distinguished names: RFC 4514, and what Node makes of certificates, say the same. */
import { expect, test } from 'vitest'
import {
  parseDistinguishedName,
  parseSubject,
} from '../../../../plugins/client-authentication/mutual-tls/distinguished-names.ts'
import { certify } from '../../../support/certificates.ts'

test.each([
  ['CN=service,O=Example', [['CN=service'], ['O=Example']]],
  ['cn = service , o = Example', [['CN=service'], ['O=Example']]],
  ['CN=a\\, b+OU=c,O=d\\+e', [['CN=a, b', 'OU=c'], ['O=d+e']]],
  ['OU=c+CN=a', [['CN=a', 'OU=c']]],
  ['CN=Lu\\C4\\8Di\\C4\\87', [['CN=Lučić']]],
  ['2.5.4.3=x,1.2.3=y', [['CN=x'], ['1.2.3=y']]],
  ['CN=\\ a\\ ', [['CN= a ']]],
  ['E=a@b.example', [['EMAILADDRESS=a@b.example']]],
  ['CN=a=b', [['CN=a=b']]],
])('%s', (text, name) => {
  expect(parseDistinguishedName(text)).toEqual(name)
})

test.each([
  '',
  'service',
  'CN=',
  'CN=a,',
  'CN=a;O=b',
  'CN=a\nO=b,',
  'CN=#0401',
  'CN="a"',
  'CN=\\',
  'CN=\\C4',
  '=a',
])('no name: %j', (text) => {
  expect(parseDistinguishedName(text)).toBeNull()
})

test.each([
  ['/C=DE/O=Example/CN=service', 'CN=service,O=Example,C=DE'],
  ['/O=Example, Inc. \\+ more/CN=a=b', 'CN=a=b,O=Example\\, Inc. \\+ more'],
  ['/O=Example+OU=x/CN=Lučić', 'CN=Lučić,OU=x+O=Example'],
  ['/CN=a\nO=Evil', 'CN=a\\0AO=Evil'],
  ['/DC=example/UID=42', 'UID=42,DC=example'],
])('the certificate of %j is that of %s', async (subject, text) => {
  const { x509 } = await certify(subject)
  const shown = parseSubject(x509.subject)
  expect(shown).not.toBeNull()
  expect(shown).toEqual(parseDistinguishedName(text))
})
