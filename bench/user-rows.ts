// Owns the rows that stand for a user's tokens: code exchange, refresh and userinfo, the same for every server, and
// the proof that a server does in them what it should before it is measured.

import { toBearer, toBody, type Algorithm, type Format, type Row } from './contestant.ts'
import { post, verify } from './requests.ts'
import {
  exchangeBody,
  refreshBody,
  signIn,
  userClaims,
  type SignedIn,
  type UserClient,
} from './user-client.ts'

export interface UserRows {
  label: string
  format: Format
  algorithm: Algorithm
  baseline?: Row['baseline']
  client: UserClient
  jwksPath: string
  userinfoPath: string
  /** Unless it is `label`. */
  userinfoLabel?: string
  /** How many tokens each of the userinfo rows goes round: none, or one row or more. */
  userinfoTokens: number[]
}

const issued = { tokens: ['access_token', 'id_token', 'refresh_token'] }

export async function userRows(rows: UserRows): Promise<Row[]> {
  const subject = await assertIssues(rows)
  const signedIn = await signIn(rows.client)
  return [
    ...tokenRows(rows, signedIn),
    ...rows.userinfoTokens.map((count) => userinfoRow(rows, signedIn, subject, count)),
  ]
}

function tokenRows({ label, client, ...rows }: UserRows, signedIn: SignedIn): Row[] {
  const common = {
    label: `${label}, ${rows.algorithm} ID token`,
    format: rows.format,
    algorithm: rows.algorithm,
    ...(rows.baseline ? { baseline: rows.baseline } : {}),
    expectation: issued,
  }
  return [
    {
      ...common,
      endpoint: 'authorization_code',
      path: client.codePath,
      order: 'once',
      requests: async (count) =>
        (await signedIn.getCodes(count)).map((code) => toBody(exchangeBody(client, code))),
    },
    ...(client.pushPath !== undefined && rows.format === 'jwt' && rows.algorithm === 'ES256'
      ? [flowRow(common, client, signedIn)]
      : []),
    {
      ...common,
      endpoint: 'refresh_token',
      path: client.refreshPath,
      order: 'chained',
      requests: async (count) =>
        (await signedIn.getRefreshTokens(count)).map((token) => toBody(refreshBody(client, token))),
    },
  ]
}

function flowRow(
  common: Omit<Row, 'endpoint' | 'path' | 'order' | 'requests'>,
  client: UserClient,
  signedIn: SignedIn,
): Row {
  return {
    ...common,
    endpoint: 'sign_in_with_par_and_dpop',
    path: client.codePath,
    order: 'once',
    // Three requests each.
    requests: async (count) => signedIn.getFlows(Math.ceil(count / 3)).map((flow) => ({ flow })),
    expectation: { ...issued, values: { token_type: 'DPoP' } },
  }
}

function userinfoRow(rows: UserRows, signedIn: SignedIn, sub: string, count: number): Row {
  const label = rows.userinfoLabel ?? rows.label
  return {
    endpoint: 'userinfo',
    label: rows.userinfoTokens.length > 1 ? `${label}, ${count} tokens in turn` : label,
    format: rows.format,
    ...(rows.baseline ? { baseline: rows.baseline } : {}),
    path: rows.userinfoPath,
    order: 'repeated',
    requests: async () => (await signedIn.getAccessTokens(count)).map(toBearer),
    expectation: { values: { sub, email: userClaims.email } },
  }
}

/**
 * A code is good once and only with the right secret, the ID token is what it is said to be, and a refresh token is
 * replaced by a refresh. Returns the user's `sub`. It takes a sign-in of its own, whose consent the second use of a
 * code may end.
 */
async function assertIssues(rows: UserRows): Promise<string> {
  const { client, jwksPath, format, algorithm } = rows
  const signedIn = await signIn(client)
  const [code = '', guarded = ''] = await signedIn.getCodes(2)
  const { access_token, id_token, refresh_token } = await signedIn.exchange(code)
  const { sub = '', aud } = await verify(client.port, jwksPath, String(id_token), { algorithms: [algorithm] })
  if (aud !== client.clientId) throw new Error(`${rows.label} issues ID tokens for ${String(aud)}`)
  if (format === 'jwt')
    await verify(client.port, jwksPath, String(access_token), { typ: 'at+jwt', algorithms: ['ES256'] })
  else if (String(access_token).split('.').length === 3) throw new Error(`${rows.label} issues JWTs`)

  const refreshed = await signedIn.refresh(String(refresh_token))
  if (refreshed['refresh_token'] === refresh_token) throw new Error(`${rows.label} does not rotate`)
  await assertRefuses(rows, client.codePath, exchangeBody(client, code))
  if (rows.baseline === 'ceiling') return sub
  await assertRefuses(rows, client.codePath, exchangeBody({ ...client, clientSecret: 'wrong' }, guarded))
  return sub
}

async function assertRefuses({ client, label }: UserRows, path: string, body: string): Promise<void> {
  const { status } = await post(client.port, path, body)
  if (status !== 400 && status !== 401) throw new Error(`${label} answered ${status} to what it must refuse`)
}
