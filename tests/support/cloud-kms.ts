/** The key management service of tests/strangers/cloud-kms, in a process of its own, and the plugin that asks it. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { atEndOfFile, temporaryDirectory } from './cleanup.ts'
import { freePort, type Settings } from './settings.ts'

const FOLDER = join(import.meta.dirname, '../strangers/cloud-kms')
const TOKEN = 'a token of the service'

export interface CloudKms {
  /** As KEYS has it. */
  readonly uri: string
  readonly token: string
  /** For a server that uses it. */
  readonly settings: Settings
  behave(mode: 'well' | 'down' | 'slow' | 'wrong', ms?: number): Promise<void>
  seen(): Promise<{ mostAtOnce: number; signatures: number }>
  /** Its references of what it keeps for this issuer. */
  listed(issuer: string): Promise<string[]>
  /** Somebody ends a key there. */
  remove(reference: string): Promise<void>
  stop(): Promise<void>
  start(): Promise<void>
}

export async function startCloudKms(): Promise<CloudKms> {
  const port = await freePort()
  const file = join(await temporaryDirectory(), 'keys.json')
  const address = `http://127.0.0.1:${port}`
  let child: ChildProcess

  async function start(): Promise<void> {
    child = spawn(process.execPath, [join(FOLDER, 'kms.ts'), String(port), file, TOKEN], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(child.stdout!, 'data')
  }
  async function stop(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  async function ask(method: string, path: string, body?: object): Promise<unknown> {
    const response = await fetch(`${address}/${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return response.json()
  }
  await start()
  atEndOfFile(stop)
  const uri = `example-kms://127.0.0.1:${port}/keys`
  return {
    uri,
    token: TOKEN,
    settings: { KEYS: uri, PLUGINS: join(FOLDER, 'cloud-kms.ts'), KMS_TOKEN: TOKEN },
    async behave(mode, ms) {
      await ask('PUT', 'behaviour', { mode, ms })
    },
    seen: async () => (await ask('GET', 'seen')) as { mostAtOnce: number; signatures: number },
    listed: async (issuer) =>
      ((await ask('GET', `keys/${encodeURIComponent(issuer)}`)) as { keys: string[] }).keys,
    async remove(reference) {
      await ask('DELETE', `keys/${reference}`)
    },
    stop,
    start,
  }
}
