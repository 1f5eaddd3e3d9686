/**
 * What a client may be told of its code, its family of refresh tokens and its Authorization, whatever breaks meanwhile: a
 * model, and the requests by which it is compared with servers. What got no answer, or 503, may have been done or not; from
 * there on the model allows for both, and for nothing else.
 */
import type { AsyncCommand } from 'fast-check'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestClient } from './clients.ts'
import { type Answer, exchangeAs, type GetCode, refreshAs } from './code-flow.ts'
import { bearer, type Requests } from './requests.ts'
import { revoke, statusOf } from './service.ts'
import { createPkce } from './sign-in.ts'

type Known = 'no' | 'yes' | 'maybe'

/** What its client knows of one Authorization. */
export interface Model {
  readonly client: TestClient
  code: 'none' | 'fresh' | 'maybe spent' | 'spent'
  /** Refresh tokens in the order in which they were handed out: all but the last were used. */
  readonly tokens: string[]
  /** When the last one was used without an answer for the first time; `performance.now()`. */
  unanswered: number | undefined
  ended: Known
}

export interface Real {
  readonly servers: readonly Requests[]
  readonly getCode: GetCode
  /** Seconds: OIDC_REFRESH_REUSE_INTERVAL. */
  readonly interval: number
  /** What was sent and answered, newest last. */
  readonly history: string[]
  /** Set when no more is to be sent. */
  over: boolean
  held: { code: string; verifier: string; accessToken: string }
}

export type Step = AsyncCommand<Model, Real>

export const createModel = (client: TestClient): Model => ({
  client, code: 'none', tokens: [], unanswered: undefined, ended: 'no',
}) // prettier-ignore

const isPublic = ({ client }: Model): boolean => client.clientSecret === ''
const holds = ({ tokens }: Model): boolean => tokens.length > 0

/** 503 and no answer are one: nobody knows. */
async function told<T extends { status: number }>(asking: Promise<T>): Promise<T | 'nothing'> {
  const answer = await asking.catch(() => 'nothing' as const)
  return answer === 'nothing' || answer.status === 503 ? 'nothing' : answer
}

function refuted(real: Real, claim: string): Error {
  return new Error(`${claim}\n  ${real.history.slice(-15).join('\n  ')}`)
}

/** One that sends something, under its name; `pace` in milliseconds. */
function step(
  name: string,
  check: (model: Model) => boolean,
  run: (model: Model, real: Real, server: Requests) => Promise<unknown>,
): (server: number, pace: number) => Step {
  return (server, pace) => ({
    check,
    toString: () => `${name} at ${server}`,
    async run(model, real) {
      if (real.over) return
      const began = performance.now()
      const note = await run(model, real, real.servers[server]!)
      const at = `${Math.round(began)} to ${Math.round(performance.now())} ms`
      real.history.push(`${name} at ${server}, ${at}: ${String(note)}`)
      await sleep(pace)
    },
  })
}

const outcomeOf = (answer: Answer | 'nothing'): string =>
  answer === 'nothing' ? 'no answer' : `${answer.status} ${answer.error ?? ''}`

/** Takes what was handed out; one that was handed out before is no new one. */
function take(model: Model, real: Real, { tokens }: Answer): void {
  if (model.tokens.includes(tokens.refresh_token)) throw refuted(real, 'a spent refresh token was handed out')
  model.tokens.push(tokens.refresh_token)
  model.unanswered = undefined
  real.held.accessToken = tokens.access_token
}

/** Somebody signs in: a new code, and nothing else that counts. */
export const begin = step(
  'code',
  ({ code, ended }) => code === 'none' || ended === 'yes',
  async (model, real) => {
    const { verifier, challenge } = createPkce()
    const pkce = { code_challenge: challenge, code_challenge_method: 'S256' }
    const code = await real.getCode({ client_id: model.client.clientId, ...pkce }).catch(() => undefined)
    if (code === undefined) return 'none'
    real.held = { code, verifier, accessToken: '' }
    Object.assign(model, { code: 'fresh', unanswered: undefined, ended: 'no' })
    model.tokens.length = 0
    return 'a new one'
  },
)

export const exchange = step(
  'exchange',
  ({ code, tokens }) => code !== 'none' && tokens.length === 0,
  async (model, real, server) => {
    const { code, verifier } = real.held
    const answer = await told(exchangeAs(server, model.client, code, { code_verifier: verifier }))
    const was = model.code
    if (answer === 'nothing') model.code = 'maybe spent'
    else if (answer.status === 200) {
      if (was === 'spent') throw refuted(real, 'a code was good twice')
      model.code = 'spent'
      take(model, real, answer)
    } else {
      if (was === 'fresh') throw refuted(real, `a code that was never used is refused: ${outcomeOf(answer)}`)
      // It was exchanged, and nobody was told: nobody holds anything of it.
      model.code = 'spent'
      model.ended = 'yes'
    }
    return outcomeOf(answer)
  },
)

export const exchangeAgain = step(
  'second exchange',
  (model) => model.code === 'spent' && holds(model),
  async (model, real, server) => {
    const { code, verifier } = real.held
    const answer = await told(exchangeAs(server, model.client, code, { code_verifier: verifier }))
    if (answer === 'nothing') model.ended = model.ended === 'yes' ? 'yes' : 'maybe'
    else if (answer.status === 200) throw refuted(real, 'a code was good twice')
    else model.ended = 'yes'
    return outcomeOf(answer)
  },
)

/** As an honest client does: with the last that it has, and that one again until it has an answer. */
export const refresh = step('refresh', holds, async (model, real, server) => {
  const sent = performance.now()
  const answer = await told(refreshAs(server, model.client, model.tokens.at(-1)!))
  if (answer === 'nothing') model.unanswered ??= sent
  else if (answer.status === 200) {
    if (model.ended === 'yes') throw refuted(real, 'an Authorization that was ended goes on')
    take(model, real, answer)
  } else {
    const { unanswered } = model
    const late = unanswered !== undefined && performance.now() - unanswered > real.interval * 1000
    if (model.ended === 'no' && !(late && isPublic(model)))
      throw refuted(real, `a client that only tries again lost its family: ${outcomeOf(answer)}`)
    model.ended = 'yes'
  }
  return outcomeOf(answer)
})

/** The last but one, while what followed it is unused: gets that again. */
export const repeat = step(
  'repeated refresh',
  ({ tokens, unanswered, ended }) => tokens.length > 1 && unanswered === undefined && ended === 'no',
  async (model, real, server) => {
    const [before, last] = model.tokens.slice(-2) as [string, string]
    const answer = await told(refreshAs(server, model.client, before))
    if (answer === 'nothing') {
      // Where it counts as a replay, that may have been stored.
      if (isPublic(model)) model.ended = 'maybe'
    } else if (answer.status === 200) {
      if (answer.tokens.refresh_token !== last) throw refuted(real, 'a retry got another successor')
    } else {
      if (!isPublic(model)) throw refuted(real, `a retry lost its family: ${outcomeOf(answer)}`)
      model.ended = 'yes'
    }
    return outcomeOf(answer)
  },
)

/** An older one ends all. */
export const replay = step(
  'replay',
  ({ tokens }) => tokens.length > 2,
  async (model, real, server) => {
    const answer = await told(refreshAs(server, model.client, model.tokens.at(-3)!))
    if (answer === 'nothing') model.ended = model.ended === 'yes' ? 'yes' : 'maybe'
    else if (answer.status === 200) throw refuted(real, 'a replay was served')
    else model.ended = 'yes'
    return outcomeOf(answer)
  },
)

export const giveBack = step(
  'revocation',
  (model) => holds(model) && !isPublic(model),
  async (model, _real, server) => {
    const status = await statusOf(revoke(server, model.client, model.tokens.at(-1)!)).catch(() => 503)
    if (status === 200) model.ended = 'yes'
    else if (model.ended === 'no') model.ended = 'maybe'
    return status
  },
)

/** What was given stays good, and what was ended is dead. */
export const look = step('userinfo', holds, async (model, real, server) => {
  const status = await statusOf(server.get('/userinfo', bearer(real.held.accessToken))).catch(() => 503)
  if (status === 200 && model.ended === 'yes')
    throw refuted(real, 'an access token outlives its Authorization')
  if (status === 401 && model.ended === 'no' && model.unanswered === undefined)
    throw refuted(real, 'an access token is refused whose Authorization lives')
  if (status === 401) model.ended = 'yes'
  return status
})
