// The options of the plugin, as an app gives them. What they come to, and what cannot be meant, is in settings.ts.
import type { FastifyInstance } from 'fastify'
import type { Verifier } from './access-token.ts'
import type { Relaxation } from './claims.ts'
import type { SenderConstraint } from './sender-constraint.ts'

/** One trusted authorization server. */
export interface IssuerOptions {
  /** Its identifier, exactly as its metadata and its tokens state it. https, or http on this machine. */
  issuer: string
  /** Audiences of its tokens that are good here. Default: the plugin's `audience`. */
  audience?: string | readonly string[] | undefined
  /** Signature algorithms that it may use. Default: ES256/384/512, EdDSA, Ed25519, PS256/384/512, RS256/384/512. */
  algorithms?: readonly string[] | undefined
  /** Where its keys are. Default: what its metadata says. */
  jwksUri?: string | undefined
  /** Named exceptions from RFC 9068. Default: none. */
  accept?: readonly Relaxation[] | undefined
  /** Allows plain http to a host that is not this machine. Anyone on the way can then mint tokens. */
  dangerouslyAllowInsecureHttp?: boolean | undefined
}

/** How an issuer's keys are kept; durations in seconds. */
export interface KeyOptions {
  /** `'background'` (default) fetches while the app starts, `'required'` makes the start fail without keys, `'lazy'` waits. */
  prefetch?: 'background' | 'required' | 'lazy' | undefined
  /** For how long old keys serve while the issuer is away. Default 86400. */
  staleIfError?: number | undefined
  /** The least time between two fetches on account of unknown key ids, at most 3600. Default 2. */
  cooldown?: number | undefined
  /** The most that one fetch may take, at most 3600. Default 5. */
  timeout?: number | undefined
}

interface CommonOptions {
  /** This app's identifier (RFC 8707, RFC 9728), an https URL. Its metadata is then served, and it is the audience. */
  resource?: string | undefined
  /** More members for the metadata (RFC 9728 §2) under their wire names; `false` serves none. */
  metadata?: Readonly<Record<string, unknown>> | false | undefined
  /** The instance at the root of the app, which serves the metadata. Default: where this is registered, which must then be the root. */
  root?: FastifyInstance | undefined
  /** The realm of challenges. Default: `resource`, or else the first audience. */
  realm?: string | undefined
  /** Also takes tokens from the query parameter `access_token` (RFC 6750 §2.3). Default false: URLs get logged. */
  queryParameter?: boolean | undefined
  /** How tokens that are bound to a key (`cnf`) are presented here. Default none: such tokens are refused. */
  senderConstraints?: readonly SenderConstraint[] | undefined
  /** Scopes that hold others: `{ write_notes: ['read_notes'] }` lets who may write read. Default none. */
  implies?: Readonly<Record<string, readonly string[]>> | undefined
  /**
   * `'deny'` refuses (403) every route that says nothing of scopes: those that are open say so, by `{ config: { scope: false } }`. Default
   * `'allow'`.
   */
  unguarded?: 'allow' | 'deny' | undefined
  /** The clock, in milliseconds since 1970, for tests. */
  now?: (() => number) | undefined
}

/** For an app that trusts tokens of an authorization server elsewhere. */
export interface IssuerModeOptions extends CommonOptions {
  issuer: string | IssuerOptions | readonly (string | IssuerOptions)[]
  /** A token has to name at least one. Default: `resource`, or else the identifier of the token's issuer. */
  audience?: string | readonly string[] | undefined
  keys?: KeyOptions | undefined
  verifier?: undefined
}

/** For an app that has its own way to verify tokens, such as the authorization server itself. */
export interface VerifierModeOptions extends CommonOptions {
  verifier: Verifier
  /** A token has to name at least one. Default: `resource`. */
  audience?: string | readonly string[] | undefined
  issuer?: undefined
  keys?: undefined
}

export type RequireScopeOptions = IssuerModeOptions | VerifierModeOptions
