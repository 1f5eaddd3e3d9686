/** Certificates of clients, made by openssl: issued by an authority, or by themselves. */
import { execFile } from 'node:child_process'
import { createPublicKey, X509Certificate } from 'node:crypto'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { JWK } from 'jose'
import { inject } from 'vitest'

export interface TestCertificate {
  /** PEM. */
  readonly cert: string
  readonly key: string
  /** The files of both. */
  readonly files: { readonly cert: string; readonly key: string }
  readonly x509: X509Certificate
}

export interface CertificateOptions {
  readonly issuer?: TestCertificate
  /** Lines of an openssl extension section, such as `subjectAltName = URI:https://a.example`. */
  readonly extensions?: readonly string[]
  /** Default `ec`, on P-256. */
  readonly key?: 'ec' | 'rsa'
}

const run = promisify(execFile)
const LEAF = ['basicConstraints = critical, CA:FALSE', 'extendedKeyUsage = clientAuth']
const NEW_KEYS = {
  ec: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'],
  rsa: ['-newkey', 'rsa:2048'],
}
const AUTHORITY = ['basicConstraints = critical, CA:TRUE', 'keyUsage = critical, keyCertSign']

/** `subject` as openssl has it: `/O=Example/CN=service`. */
export async function certify(
  subject: string,
  { issuer, extensions = LEAF, key: kind = 'ec' }: CertificateOptions = {},
): Promise<TestCertificate> {
  // Of the run: files of tests that share a support file have the same.
  const directory = await mkdtemp(join(inject('runDirectory'), 'certificate-'))
  const files = { cert: join(directory, 'cert.pem'), key: join(directory, 'key.pem') }
  const config = join(directory, 'openssl.cnf')
  const head = ['[req]', 'distinguished_name = dn', 'x509_extensions = ext', '[dn]', '[ext]']
  await writeFile(config, [...head, ...extensions, ''].join('\n'))
  const request = ['req', '-x509', '-config', config, ...NEW_KEYS[kind]]
  const by = issuer === undefined ? [] : ['-CA', issuer.files.cert, '-CAkey', issuer.files.key]
  const written = ['-nodes', '-days', '2', '-keyout', files.key, '-out', files.cert]
  await run('openssl', [...request, ...by, '-utf8', '-multivalue-rdn', '-subj', subject, ...written])
  const [cert, key] = await Promise.all([readFile(files.cert, 'utf8'), readFile(files.key, 'utf8')])
  return { cert, key, files, x509: new X509Certificate(cert) }
}

export async function createAuthority(name: string): Promise<TestCertificate> {
  return certify(`/CN=${name}`, { extensions: AUTHORITY })
}

/** A leaf with these further extensions. */
export const withNames = (...names: readonly string[]): readonly string[] => [
  ...LEAF,
  `subjectAltName = ${names.join(', ')}`,
]

/** Its public key, with the certificate (RFC 7517 §4.7). */
export function jwkOf({ x509 }: TestCertificate): JWK {
  const key = createPublicKey(x509.publicKey.export({ type: 'spki', format: 'pem' }))
  return { ...(key.export({ format: 'jwk' }) as JWK), x5c: [x509.raw.toString('base64')] }
}

/** As a proxy hands it on: nginx's `$ssl_client_escaped_cert`, and RFC 9440. */
export const asPem = ({ cert }: TestCertificate): string => encodeURIComponent(cert)
export const asByteSequence = ({ x509 }: TestCertificate): string => `:${x509.raw.toString('base64')}:`
