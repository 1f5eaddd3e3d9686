// Owns the types of oidc-provider that the benchmark uses; the package ships none.

declare module 'oidc-provider' {
  import type { Server } from 'node:http'

  export interface AdapterPayload {
    grantId?: string
    userCode?: string
    uid?: string
    consumed?: number
    [member: string]: unknown
  }

  /** https://github.com/panva/node-oidc-provider/blob/main/docs/README.md#adapter */
  export interface Adapter {
    upsert(id: string, payload: AdapterPayload, expiresIn: number | undefined): Promise<void>
    find(id: string): Promise<AdapterPayload | undefined>
    findByUid(uid: string): Promise<AdapterPayload | undefined>
    findByUserCode(userCode: string): Promise<AdapterPayload | undefined>
    consume(id: string): Promise<void>
    destroy(id: string): Promise<void>
    revokeByGrantId(grantId: string): Promise<void>
  }

  export class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>)
    listen(port: number, host: string, listening: () => void): Server
  }
}
