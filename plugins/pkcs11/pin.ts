/** The PIN of a token from a file of the operator's; it is in no address, no log and no list of processes. */
import { readFile } from 'node:fs/promises'
import { ConfigError } from '../../src/config.ts'

/** Throws `ConfigError` where it cannot be read, or is none. */
export async function readPin(path: string): Promise<string> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new ConfigError(`KEYS: the PIN cannot be read from ${path} (${code}).`, { cause })
  }
  const pin = text.replace(/\r?\n$/, '')
  if (pin === '' || pin.includes('\n')) throw new ConfigError(`KEYS: ${path} must hold a PIN, on one line.`)
  return pin
}
