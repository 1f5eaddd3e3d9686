/** What every check of a plan for transmitters works with: a server below a path, a receiver for each plan, and a person who uses it. */
import { startReceiver, type Receiver } from '../../support/receiver.ts'
import type { TestServer } from '../../support/server.ts'
import { freePort } from '../../support/settings.ts'
import { app, startSignals } from '../../support/shared-signals.ts'
import { SSF_PLANS, ssfVariantOf, type SsfPlan, type SsfVariant } from './ledger.ts'

/** SSF 1.0 §7.1. */
export interface TransmitterMetadata {
  readonly issuer: string
  readonly jwks_uri: string
  readonly configuration_endpoint: string
  readonly status_endpoint: string
  readonly add_subject_endpoint: string
  readonly remove_subject_endpoint: string
  readonly verification_endpoint: string
}

export interface SsfServer {
  readonly server: TestServer
  /** Where events are pushed to; it takes all. */
  readonly host: Receiver
}

export interface SsfSuite extends SsfVariant, SsfServer {
  readonly metadata: TransmitterMetadata
  /** The `client_id` of the plan's receiver. */
  readonly client: string
}

const clientOf = (plan: SsfPlan): string => plan.replaceAll(' ', '-')

export async function startSsfServer(): Promise<SsfServer> {
  const host = await startReceiver((_request, response) => response.writeHead(202).end())
  const PORT = await freePort()
  const server = await startSignals(
    SSF_PLANS.map((plan) => app(clientOf(plan))),
    {
      PORT,
      OIDC_ISSUER: `http://127.0.0.1:${PORT}/some/path`,
      UNSAFE_OUTBOUND_ORIGINS: `http://127.0.0.1:${host.port}`,
    },
  )
  return { server, host }
}

/** Before the path of the issuer (§7.2). */
export function fetchMetadata({ server }: Pick<SsfServer, 'server'>): Promise<Response> {
  const { origin, pathname } = new URL(server.url)
  return fetch(`${origin}/.well-known/ssf-configuration${pathname}`)
}

/** One server has the receivers of all plans. */
export async function createSsfSuite(plan: SsfPlan, served: SsfServer): Promise<SsfSuite> {
  const metadata = (await (await fetchMetadata(served)).json()) as TransmitterMetadata
  return { ...ssfVariantOf(plan), ...served, metadata, client: clientOf(plan) }
}
