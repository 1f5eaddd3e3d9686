/**
 * The registration list: our plugins in reading order, which is the order in which they are registered, and which of them are left out.
 * Order is security-relevant, so it is seen here and follows from nothing else.
 */
import account from '../plugins/account/index.ts'
import admin from '../plugins/admin/index.ts'
import adminApi from '../plugins/admin-api/index.ts'
import roles from '../plugins/roles.ts'
import webhooks from '../plugins/webhooks/index.ts'
import globalTokenRevocation from '../plugins/global-token-revocation/index.ts'
import scim from '../plugins/scim/index.ts'
import sharedSignals from '../plugins/shared-signals/index.ts'
import authorize from '../plugins/authorize/index.ts'
import code from '../plugins/authorize/code.ts'
import responseModes from '../plugins/authorize/response-modes.ts'
import backChannelLogout from '../plugins/sign-out/backchannel-logout.ts'
import browser from '../plugins/browser/index.ts'
import clientAuthentication from '../plugins/client-authentication/index.ts'
import consent from '../plugins/consent.ts'
import discovery from '../plugins/discovery/index.ts'
import dpop from '../plugins/dpop.ts'
import encryption from '../plugins/encryption.ts'
import endSession from '../plugins/sign-out/end-session/index.ts'
import forgotPassword from '../plugins/forgot-password/index.ts'
import frontChannelLogout from '../plugins/sign-out/frontchannel-logout.ts'
import health from '../plugins/health.ts'
import home from '../plugins/home.ts'
import implicit from '../plugins/authorize/implicit.ts'
import interaction from '../plugins/interaction/index.ts'
import invitation from '../plugins/invitation/index.ts'
import introspection from '../plugins/introspection.ts'
import jar from '../plugins/requests/jar.ts'
import jarm from '../plugins/authorize/jarm.ts'
import jwks from '../plugins/jwks.ts'
import jwtIntrospection from '../plugins/jwt-introspection.ts'
import language from '../plugins/language.ts'
import ldap from '../plugins/ldap/index.ts'
import login from '../plugins/login/index.ts'
import pages from '../plugins/pages/index.ts'
import mail from '../plugins/mail/index.ts'
import mailCode from '../plugins/mail-code/index.ts'
import notices from '../plugins/notices/index.ts'
import ownData from '../plugins/own-data/index.ts'
import par from '../plugins/requests/par.ts'
import passkeys from '../plugins/passkeys/index.ts'
import pkcs11 from '../plugins/pkcs11/index.ts'
import passwordLink from '../plugins/password/link.ts'
import passwordSignIn from '../plugins/password/sign-in.ts'
import mutualTls from '../plugins/client-authentication/mutual-tls/index.ts'
import clientSecretJwt from '../plugins/client-authentication/client-secret-jwt.ts'
import federatedJwt from '../plugins/client-authentication/federated-jwt.ts'
import fapi20 from '../plugins/profiles/fapi.ts'
import fapiCiba from '../plugins/profiles/fapi-ciba.ts'
import mcp from '../plugins/profiles/mcp.ts'
import oauth21 from '../plugins/profiles/oauth21.ts'
import privateKeyJwt from '../plugins/client-authentication/private-key-jwt.ts'
import openid from '../plugins/openid.ts'
import clientDocuments from '../plugins/client-documents/index.ts'
import registration from '../plugins/registration/index.ts'
import rar from '../plugins/requests/rar.ts'
import revocation from '../plugins/revocation.ts'
import authorizationCode from '../plugins/token/grants/authorization-code.ts'
import jwtBearer from '../plugins/token/grants/jwt-bearer/index.ts'
import tokenExchange from '../plugins/token/grants/token-exchange/index.ts'
import deviceCode from '../plugins/token/grants/device-code/index.ts'
import ciba from '../plugins/token/grants/ciba/index.ts'
import clientCredentials from '../plugins/token/grants/client-credentials.ts'
import refreshToken from '../plugins/token/grants/refresh-token.ts'
import signIn from '../plugins/sign-in.ts'
import signingAlgorithms from '../plugins/signing-algorithms.ts'
import sessionManagement from '../plugins/sign-out/session-management.ts'
import secondFactor from '../plugins/second-factor/index.ts'
import setup from '../plugins/setup.ts'
import signUp from '../plugins/sign-up/index.ts'
import subjectTypes from '../plugins/subject-types.ts'
import token from '../plugins/token/index.ts'
import upstreams from '../plugins/upstreams/index.ts'
import userinfo from '../plugins/userinfo.ts'
import resourceServer from '../plugins/resource-server.ts'
import { closeTo, findNearest } from './protocol/nearest.ts'
import { ConfigError } from './config.ts'
import drain from './http/drain.ts'
import type { LatchkeyOptions } from './mounting/latchkey-options.ts'

/** Ours, by the names under which they may be left out; each comes after those that it depends on. */
export const PLUGINS = [
  drain,
  clientAuthentication,
  privateKeyJwt,
  clientSecretJwt,
  federatedJwt,
  mutualTls,
  subjectTypes,
  pkcs11,
  signingAlgorithms,
  pages,
  browser,
  language,
  interaction,
  login,
  passwordSignIn,
  signIn,
  consent,
  responseModes,
  authorize,
  jarm,
  code,
  jar,
  par,
  rar,
  token,
  dpop,
  fapi20,
  fapiCiba,
  oauth21,
  mcp,
  authorizationCode,
  refreshToken,
  clientCredentials,
  deviceCode,
  tokenExchange,
  jwtBearer,
  openid,
  roles,
  implicit,
  userinfo,
  encryption,
  endSession,
  backChannelLogout,
  frontChannelLogout,
  sessionManagement,
  account,
  admin,
  adminApi,
  scim,
  ldap,
  ownData,
  mail,
  notices,
  webhooks,
  passkeys,
  mailCode,
  forgotPassword,
  invitation,
  signUp,
  upstreams,
  globalTokenRevocation,
  home,
  setup,
  passwordLink,
  secondFactor,
  ciba,
  registration,
  clientDocuments,
  introspection,
  jwtIntrospection,
  revocation,
  jwks,
  sharedSignals,
  discovery,
  health,
]
/** Their addresses follow from the issuer by themselves. */
export const AT_THE_ROOT = new Set<unknown>([discovery, health])
/** An app has these at its root itself; below a path of ours they are ours. */
export const OF_A_HOST = new Set<unknown>([home, drain, health])
/** Without these, nothing shows a page: what depends on them goes with them, and nobody gets a code. */
const OF_PAGES = [pages, browser, authorizationCode]

/**
 * What may be left out, and what each needs.
 * @internal
 */
export function ownPlugins(): readonly { readonly name: string; readonly dependencies: readonly string[] }[] {
  return [...PLUGINS, resourceServer].map((plugin) => ({
    name: nameOf(plugin),
    dependencies: metaOf(plugin).dependencies ?? [],
  }))
}

/** As ours are called, whose name may have been written without what all begin with. */
function withPrefix(name: string): string {
  return name.startsWith('latchkey-') ? name : `latchkey-${name}`
}

/**
 * Names of the plugins of ours that are not registered. `ofSetting`: those that the setting WITHOUT names; a refusal of one begins with
 * `WITHOUT:`. Throws `ConfigError` for a name of none.
 */
export function leftOut(
  { without: given = [], pages: shown = true }: Pick<LatchkeyOptions, 'without' | 'pages'>,
  ofSetting: readonly string[] = [],
): ReadonlySet<string> {
  const all = [...PLUGINS, resourceServer]
  const without = [...given, ...ofSetting]
  const unknown = without.find((name) => !all.some((plugin) => nameOf(plugin) === name))
  if (unknown !== undefined) {
    const { nearest, distance } = findNearest(withPrefix(unknown), all.map(nameOf))
    const meant = distance > closeTo(unknown) ? '' : ` Did you mean ${nearest}?`
    const there = given.includes(unknown) ? 'There' : 'WITHOUT: there'
    throw new ConfigError(`${there} is no plugin ${unknown} to leave out.${meant}`)
  }
  const left = new Set(without)
  if (shown) {
    assertNoneIsNeeded(left, all, ofSetting)
    return left
  }
  for (const plugin of OF_PAGES) left.add(nameOf(plugin))
  for (const plugin of all)
    if (metaOf(plugin).dependencies?.some((one) => left.has(one))) left.add(nameOf(plugin))
  return left
}

function assertNoneIsNeeded(
  left: ReadonlySet<string>,
  all: readonly object[],
  ofSetting: readonly string[],
): void {
  for (const plugin of all) {
    const needed = metaOf(plugin).dependencies?.find((one) => left.has(one))
    if (needed === undefined || left.has(nameOf(plugin))) continue
    const setting = ofSetting.includes(needed) ? 'WITHOUT: ' : ''
    throw new ConfigError(`${setting}${nameOf(plugin)} needs the plugin ${needed}: leave out both, or none.`)
  }
}

function metaOf(plugin: object): { name?: string; dependencies?: string[] } {
  return (plugin as Record<symbol, object | undefined>)[Symbol.for('plugin-meta')] ?? {}
}

/** The name under which it may be left out; empty for one that has none. */
export function nameOf(plugin: object): string {
  return metaOf(plugin).name ?? ''
}
