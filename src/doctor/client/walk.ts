/** `doctor --client URL`: the way of a client from what it is given to where it can sign its user in, up to the first thing that is wrong. */
import { ConfigError, parseConfig, type Config, type SettingValues } from '../../config.ts'
import { type Fetch, OutboundError } from '../../doors/outbound.ts'
import { createGuardedFetch, outboundOf } from '../../services/outbound/guarded-fetch.ts'
import { fail } from '../finding.ts'
import { walkDocument, type Judge } from './document.ts'
import { FIRST, walkResource } from './resource.ts'
import { type ClientFinding, type Walk, Wrong } from './step.ts'

/** `url` is the metadata document of a client, which `judge` judges, or an API or MCP server. Never throws for what is wrong with it or the settings. */
export async function walkClient(
  settings: SettingValues,
  url: string,
  judge: Judge,
): Promise<ClientFinding[]> {
  const found: ClientFinding[] = []
  try {
    for await (const finding of walk(parseConfig(settings), url, judge)) found.push(finding)
  } catch (error) {
    if (error instanceof Wrong) found.push(fail(error.check, error.message))
    else if (error instanceof ConfigError) found.push(fail('client', error.message))
    else throw error
  }
  return found
}

async function* walk(config: Config, url: string, judge: Judge): Walk {
  const { UNSAFE_OUTBOUND_ORIGINS: unsafe, issuer } = config
  const address = URL.parse(url)
  if (address === null || !/^https?:$/.test(address.protocol))
    throw new Wrong('client', `${JSON.stringify(url)} is no web address`, 'give that of a metadata document, or of an MCP server')
  // Whoever runs this knows where it is, also within their own network; for the document of a client, what the server may fetch counts.
  const near = createGuardedFetch({ unsafeOrigins: [...unsafe, address.origin, new URL(issuer).origin] })
  if (await isResource(url, near)) yield* walkResource(url, issuer, near)
  else yield* walkDocument(url, config, createGuardedFetch(outboundOf(config)), judge)
} // prettier-ignore

/** What asks for a token is one, and what answers the first call of a client; a document answers everybody who reads it. */
async function isResource(url: string, fetch: Fetch): Promise<boolean> {
  const read = await answered(fetch(url, { headers: { accept: 'application/json' }, maxBytes: 65_536 }))
  if (read?.status === 401 || read?.status === 405) return true
  if (read?.status === 200 && /"client_id"/.test(await read.text())) return false
  // One that nobody guards may answer a GET by events without end.
  const called = await answered(fetch(url, FIRST))
  return (
    called?.status === 401 ||
    (called?.status === 200 && /"jsonrpc"|^(?:event|data):/m.test(await called.text()))
  )
}

async function answered(response: Promise<Response>): Promise<Response | undefined> {
  try {
    return await response
  } catch (error) {
    if (error instanceof OutboundError) return undefined
    throw error
  }
}
