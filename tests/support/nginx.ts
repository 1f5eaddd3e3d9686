/**
 * nginx for a test file, with the very configuration that `deploy/nginx.conf` gives operators: other ports, and a
 * certificate of the test's own. Where there is no nginx, tests that need it are skipped (`noNginx`), and the run says so.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join, resolve } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { vi } from 'vitest'
import { atEndOfFile, temporaryDirectory } from './cleanup.ts'

const NGINX = process.env['NGINX'] ?? 'nginx'
const PATH = `${process.env['PATH']}:/usr/sbin:/usr/local/sbin`
const present = [[NGINX, '-v'] as const, ['openssl', 'version'] as const].every(
  ([program, argument]) => spawnSync(program, [argument], { env: { PATH } }).status === 0,
)

if (!present) {
  const how = 'install them (apt-get install nginx-light openssl), or name nginx by NGINX'
  process.stderr.write(`\n!!! SKIPPED: no nginx or no openssl, so nothing is tested behind it: ${how}.\n\n`)
}

/** For `describe.skipIf`. */
export const noNginx = !present

/** The site of `deploy/nginx.conf` with each text replaced by another; one that it does not have is an error. */
export async function siteOf(replacements: readonly (readonly [string, string])[]): Promise<string> {
  let site = await readFile(resolve(import.meta.dirname, '../../deploy/nginx.conf'), 'utf8')
  for (const [from, to] of replacements) {
    if (!site.includes(from)) throw new Error(`deploy/nginx.conf has no ${from}.`)
    site = site.replaceAll(from, to)
  }
  return site
}

export interface Certificate {
  certificate: string
  key: string
}

/** For localhost; this process trusts it from now on. */
export async function createCertificate(): Promise<Certificate> {
  const directory = await temporaryDirectory()
  const [certificate, key] = [join(directory, 'fullchain.pem'), join(directory, 'privkey.pem')]
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '2']
  execFileSync('openssl', [...request, ...subject, '-keyout', key, '-out', certificate], { stdio: 'ignore' })
  setDefaultCACertificates([...getCACertificates('default'), await readFile(certificate, 'utf8')])
  return { certificate, key }
}

/** Runs nginx on a site for the http context, until the end of the file, and waits for its port. */
export async function startNginx(site: string, port: number): Promise<{ errors(): Promise<string> }> {
  const directory = await temporaryDirectory()
  const main = join(directory, 'nginx.conf')
  const log = join(directory, 'error.log')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(directory, name)};`,
  )
  await writeFile(join(directory, 'latchkey.conf'), site)
  await writeFile(
    main,
    [
      `daemon off; worker_processes 2; pid ${join(directory, 'pid')}; error_log ${log} warn;`,
      'events {}',
      `http { access_log off; ${temporary.join(' ')} include ${join(directory, 'latchkey.conf')}; }`,
    ].join('\n'),
  )
  execFileSync(NGINX, ['-t', '-q', '-e', log, '-c', main], { env: { PATH }, stdio: 'pipe' })
  const child = spawn(NGINX, ['-e', log, '-c', main], { env: { PATH }, stdio: 'ignore' })
  const exit = once(child, 'exit')
  atEndOfFile(async () => {
    child.kill('SIGTERM')
    await exit
  })
  await vi.waitFor(async () => isListening(port), { timeout: 30_000, interval: 20 })
  return { errors: async () => readFile(log, 'utf8') }
}

/** Throws while it does not. */
async function isListening(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.destroy()
}
