import { expect, test } from 'vitest'
import type { ApprovalRequest } from '../../src/doors/approval.ts'
import type { Client } from '../../src/doors/client.ts'
import type { Granted } from '../../src/doors/facts.ts'
import {
  approvalFromJson,
  approvalToJson,
  grantedFromJson,
  grantedToJson,
  type StoredApproval,
} from '../../src/doors/stored-facts.ts'
import type { StoredGranted } from '../../src/protocol/facts.ts'

const LASTING: Granted = {
  subject: 'ada',
  scopes: new Set(['openid', 'read']),
  resources: ['https://api.example'],
  approvedResources: ['https://api.example', 'https://other.example'],
  parameters: { nonce: 'n', nothing: null },
  approvedParameters: { nonce: 'n', details: ['all'] },
  authentication: { time: 1_700_000_000_123, amr: ['pwd'], sid: 'sid' },
  consent: 'consent',
  refreshable: false,
  actor: { sub: 'service', act: { sub: 'desk' } },
  binding: { tokenType: 'DPoP', cnf: { jkt: 'thumbprint' } },
  parent: {
    clientId: 'web',
    since: 1_700_000_000_123,
    token: 'jti',
    notAfter: 1_800_000_000_000,
    parent: { clientId: 'desk', since: 1_700_000_000_000 },
  },
  notAfter: 1_900_000_000_123,
}
const client: Client = {
  clientId: 'tv',
  registeredAt: 0,
  grantableScopes: new Set(),
  scope: [],
  grantTypes: new Set(),
  authenticationMethod: undefined,
  metadata: {},
  isPublic: () => true,
}

const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

test('what was granted comes back from JSON as it was, to the millisecond', () => {
  expect(grantedFromJson(asJson(grantedToJson(LASTING)))).toStrictEqual(LASTING)
})

test('what is absent stays absent, and a column that is null is absent', () => {
  const little: Granted = { scopes: new Set(['read']), resources: [] }
  expect(grantedFromJson(asJson(grantedToJson(little)))).toStrictEqual(little)
  const row: StoredGranted = { scopes: ['read'], resources: [], actor: null, binding: null, notAfter: null }
  expect(grantedFromJson(row)).toStrictEqual(little)
})

test('what belongs to one token request is not kept', () => {
  const authorization = { ...LASTING, clientId: 'tv' }
  const presented = {
    ...LASTING,
    spends: [{ kind: 'voucher', handle: 'secret' }],
    continues: { authorization, refreshToken: 'secret' },
  }
  expect(JSON.stringify(grantedToJson(presented))).not.toContain('secret')
  expect(grantedFromJson(grantedToJson(presented))).toStrictEqual(LASTING)
})

test('a request for approval comes back with its client, and with what its protocol added', () => {
  const request: ApprovalRequest & { responseType: string } = {
    client,
    scopes: new Set(['openid']),
    resources: [],
    parameters: { nonce: 'n' },
    notices: ['Did you start this yourself?'],
    responseType: 'code',
  }
  const stored: StoredApproval = asJson(approvalToJson(request))
  expect(stored).toMatchObject({ client: 'tv', scopes: ['openid'] })
  expect(approvalFromJson(stored, client)).toStrictEqual(request)
})
