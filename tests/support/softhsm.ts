/** SoftHSM, as Debian packages it: hardware that is none, with all that PKCS #11 asks of it. Each test file has tokens of its own. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { temporaryDirectory } from './cleanup.ts'

const MODULES = [
  '/usr/lib/softhsm/libsofthsm2.so',
  '/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so',
  '/usr/lib/aarch64-linux-gnu/softhsm/libsofthsm2.so',
  '/opt/homebrew/lib/softhsm/libsofthsm2.so',
]

/** Undefined where it is not installed. */
export const softHsmModule = MODULES.find((path) => existsSync(path))

if (softHsmModule === undefined)
  console.warn('!!! SoftHSM is not installed (apt-get install softhsm2), so keys in hardware are NOT tested')

export interface SoftToken {
  readonly label: string
  readonly pin: string
  /** As KEYS has it. */
  readonly uri: string
  /** The file that holds the PIN. */
  readonly pinFile: string
  readonly module: string
}

/** Where they are while they are away. */
export const AWAY = 'tokens, away'
let directory: string | undefined

/** Where all tokens of this process lie; moved away, they are gone for whoever begins anew. */
export async function tokenDirectory(): Promise<string> {
  // That of the file before this one is gone with it.
  if (directory !== undefined && existsSync(directory)) return directory
  directory = await temporaryDirectory()
  const tokens = join(directory, 'tokens')
  await mkdir(tokens)
  const configuration = join(directory, 'softhsm2.conf')
  await writeFile(
    configuration,
    `directories.tokendir = ${tokens}\nobjectstore.backend = file\nlog.level = ERROR\n`,
  )
  process.env['SOFTHSM2_CONF'] = configuration
  return directory
}

let count = 0

export async function createToken(): Promise<SoftToken> {
  const place = await tokenDirectory()
  // Left by a test that failed.
  if (existsSync(join(place, AWAY))) await rename(join(place, AWAY), join(place, 'tokens'))
  const label = `test-${++count}`
  const pin = `48${count}15`
  execFileSync(
    'softhsm2-util',
    ['--init-token', '--free', '--label', label, '--pin', pin, '--so-pin', '87654321'],
    { stdio: 'pipe' },
  )
  const pinFile = join(place, `${label}.pin`)
  await writeFile(pinFile, `${pin}\n`, { mode: 0o600 })
  const module = softHsmModule!
  return {
    label,
    pin,
    pinFile,
    module,
    uri: `pkcs11:token=${label}?module-path=${module}&pin-source=file:${pinFile}`,
  }
}
