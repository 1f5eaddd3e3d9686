/** Addresses of PKCS #11 tokens (RFC 7512), as far as a server needs them: which token, by which module, and where its PIN is. */
import { ConfigError } from '../../src/config.ts'

export interface TokenUri {
  /** What the token must say of itself, by the names of RFC 7512 §2.3. */
  readonly token: Readonly<Record<string, string>>
  /** The path of the module. */
  readonly modulePath: string
  /** The path of the file that holds the PIN. */
  readonly pinFile: string | undefined
}

/** §2.3: those that say which token. */
const PATH = ['token', 'manufacturer', 'serial', 'model', 'slot-id']

/** Throws `ConfigError`, which quotes nothing that may be secret. */
export function parseTokenUri(uri: string): TokenUri {
  const [path = '', query = ''] = uri.slice('pkcs11:'.length).split('?', 2)
  const token = parseAttributes(path, ';')
  const how = parseAttributes(query, '&')
  const unknown = Object.keys(token).find((name) => !PATH.includes(name))
  if (unknown !== undefined)
    throw refused(`has ${unknown}, which says nothing of a token: it may have ${PATH.join(', ')}`)
  if (Object.keys(token).length === 0) throw refused('must say which token, as pkcs11:token=example')
  if (how['pin-value'] !== undefined)
    throw refused('must not hold the PIN: put it into a file that pin-source names, or into PKCS11_PIN')
  const { 'module-path': modulePath, 'pin-source': pinSource } = how
  if (modulePath === undefined || !modulePath.startsWith('/'))
    throw refused(
      'must say where the module of the token is, as ?module-path=/usr/lib/softhsm/libsofthsm2.so',
    )
  return { token, modulePath, pinFile: pinSource === undefined ? undefined : fileOf(pinSource) }
}

/** §2.4: a path, or a `file:` URI. */
function fileOf(source: string): string {
  const path = source.startsWith('file:') ? source.replace(/^file:(?:\/\/(?:localhost)?)?/, '') : source
  if (!path.startsWith('/')) throw refused('must have a pin-source that is the path of a file')
  return path
}

function parseAttributes(text: string, separator: string): Record<string, string> {
  const found: Record<string, string> = {}
  for (const part of text.split(separator)) {
    if (part === '') continue
    const at = part.indexOf('=')
    const name = part.slice(0, at)
    if (at < 1 || Object.hasOwn(found, name))
      throw refused('has a part that is not name=value, or a name twice')
    try {
      found[name] = decodeURIComponent(part.slice(at + 1))
    } catch {
      throw refused(`has a ${name} that is not percent-encoded`)
    }
  }
  return found
}

function refused(why: string): ConfigError {
  return new ConfigError(`KEYS: the pkcs11 address ${why} (RFC 7512).`)
}
