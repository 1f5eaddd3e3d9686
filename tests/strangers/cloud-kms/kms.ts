/**
 * A key management service as a cloud has them, in a process of its own: keys that never leave it, asked over HTTP with a token. Like
 * others it gets ECDSA's digest and answers in DER. It keeps its keys in a file, so that it may be stopped and started.
 *
 * `node kms.js PORT FILE TOKEN`; `PUT /behaviour` with `well`, `down`, `slow` (with `ms`) or `wrong` is what tests tell it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import {
  constants,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomUUID,
  sign,
} from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

const [port = '', file = '', token = ''] = process.argv.slice(2)

interface Kept {
  /** Whose it is. */
  tag: string
  spec: string
  pem: string
}
const keys: Record<string, Kept> = existsSync(file)
  ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, Kept>)
  : {}
const save = (): void => writeFileSync(file, JSON.stringify(keys))

let behaviour: { mode: string; ms: number } = { mode: 'well', ms: 0 }
let [underWay, mostAtOnce, signatures] = [0, 0, 0]

const SPECS: Readonly<Record<string, () => { privateKey: ReturnType<typeof createPrivateKey> }>> = {
  ECC_P256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ECC_P384: () => generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  RSA_2048: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
}

class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

function find(name: string): Kept {
  const kept = keys[name]
  if (kept === undefined) throw new Refusal(404, 'NotFoundException')
  return kept
}

function signWith(name: string, algorithm: string, message: Buffer): string {
  const { pem, spec } = find(name)
  const hash = {
    ECDSA_SHA_256: 'sha256',
    ECDSA_SHA_384: 'sha384',
    RSA_PKCS1_SHA_256: 'sha256',
    RSA_PSS_SHA_256: 'sha256',
  }[algorithm]
  if (hash === undefined || spec.startsWith('ECC') !== algorithm.startsWith('ECDSA'))
    throw new Refusal(400, 'InvalidKeyUsageException')
  const pss =
    algorithm === 'RSA_PSS_SHA_256' ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 } : {}
  return sign(hash, message, { key: createPrivateKey(pem), ...pss }).toString('base64')
}

async function handle(request: IncomingMessage): Promise<object> {
  const [, kind = '', name = '', what = ''] = (request.url ?? '').split('/')
  const body =
    request.method === 'GET' || request.method === 'DELETE'
      ? {}
      : ((await json(request)) as Record<string, string>)
  if (kind === 'behaviour') {
    behaviour = { mode: String(body['mode']), ms: Number(body['ms'] ?? 0) }
    mostAtOnce = 0
    return {}
  }
  if (kind === 'seen') return { mostAtOnce, signatures }
  if (request.headers.authorization !== `Bearer ${token}`) throw new Refusal(403, 'AccessDeniedException')
  if (behaviour.mode === 'down') throw new Refusal(500, 'InternalFailure')
  if (behaviour.mode === 'slow') await sleep(behaviour.ms)
  if (kind !== 'keys') throw new Refusal(404, 'UnknownOperation')
  if (request.method === 'GET') return { keys: Object.keys(keys).filter((one) => keys[one]!.tag === name) }
  if (request.method === 'DELETE') {
    find(name)
    delete keys[name]
    save()
    return {}
  }
  if (what === 'sign') {
    signatures++
    const made = signWith(name, String(body['algorithm']), Buffer.from(String(body['message']), 'base64'))
    // Somebody else's answer, as a proxy that mixes them up would give it.
    return {
      signature:
        behaviour.mode === 'wrong' ? signWith(name, String(body['algorithm']), Buffer.from('other')) : made,
    }
  }
  const make = SPECS[String(body['spec'])]
  if (make === undefined) throw new Refusal(400, 'UnsupportedOperationException')
  const { privateKey } = make()
  const id = randomUUID()
  keys[id] = {
    tag: String(body['tag']),
    spec: String(body['spec']),
    pem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
  save()
  return {
    name: id,
    spki: createPublicKey(privateKey).export({ type: 'spki', format: 'der' }).toString('base64'),
  }
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

createServer((request, response) => {
  mostAtOnce = Math.max(mostAtOnce, ++underWay)
  handle(request)
    .then((body) => answer(response, 200, body))
    .catch((error: unknown) =>
      answer(response, error instanceof Refusal ? error.status : 500, { message: String(error) }),
    )
    .finally(() => underWay--)
}).listen(Number(port), '127.0.0.1', () => console.log('ready'))
