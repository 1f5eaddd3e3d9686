/** Files of `deploy/` for a test: their very text, with other ports and paths; and a certificate for localhost. */
import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { temporaryDirectory } from './cleanup.ts'

export type Replacements = readonly (readonly [string, string])[]

/** The file with each text replaced by another; one that it does not have is an error. */
export async function deployed(name: string, replacements: Replacements): Promise<string> {
  let text = await readFile(resolve(import.meta.dirname, '../../deploy', name), 'utf8')
  for (const [from, to] of replacements) {
    if (!text.includes(from)) throw new Error(`deploy/${name} has no ${from}.`)
    text = text.replaceAll(from, to)
  }
  return text
}

export interface Certificate {
  certificate: string
  key: string
}

/** For these hosts; this process trusts it from now on. */
export async function createCertificate(...hosts: readonly string[]): Promise<Certificate> {
  const [name, ...others] = hosts.length === 0 ? ['localhost'] : hosts
  const directory = await temporaryDirectory()
  const [certificate, key] = [join(directory, 'fullchain.pem'), join(directory, 'privkey.pem')]
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const names = [name, ...others].map((host) => `DNS:${host}`).join(',')
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${names}`, '-days', '2']
  execFileSync('openssl', [...request, ...subject, '-keyout', key, '-out', certificate], { stdio: 'ignore' })
  setDefaultCACertificates([...getCACertificates('default'), await readFile(certificate, 'utf8')])
  return { certificate, key }
}
