/** The certificate and the key that MTLS_CERTIFICATE and MTLS_KEY name. */
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { type Config, ConfigError } from '../config.ts'

export interface TlsIdentity {
  readonly cert: string
  readonly key: string
}

/** Throws `ConfigError` where a file cannot be read, or they are not a certificate and its key. */
export async function readIdentity({
  MTLS_CERTIFICATE: certificate = '',
  MTLS_KEY: key = '',
}: Pick<Config, 'MTLS_CERTIFICATE' | 'MTLS_KEY'>): Promise<TlsIdentity> {
  const identity = { cert: await read('MTLS_CERTIFICATE', certificate), key: await read('MTLS_KEY', key) }
  try {
    createSecureContext(identity)
  } catch (cause) {
    throw new ConfigError('MTLS_CERTIFICATE and MTLS_KEY are not a certificate and its key, in PEM.', {
      cause,
    })
  }
  return identity
}

async function read(setting: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw new ConfigError(`${setting}: ${path} cannot be read.`, { cause })
  }
}
