/**
 * A public client in a browser, without a library: the code flow with PKCE in a popup (`signIn`) or a hidden frame
 * (`renew`), as oidc-client-ts does it. Its query says which server, and which client it is.
 */
const { issuer, client_id } = Object.fromEntries(new URLSearchParams(location.search))
const redirect_uri = `${location.origin}/callback.html`

function random() {
  return encode(crypto.getRandomValues(new Uint8Array(32)))
}

function encode(bytes) {
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes)))
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

async function flow(parameters, open) {
  const metadata = await json(fetch(`${issuer}/.well-known/openid-configuration`))
  const [state, code_verifier] = [random(), random()]
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(code_verifier))
  const request = new URLSearchParams({
    client_id,
    redirect_uri,
    response_type: 'code',
    scope: 'openid email',
    state,
    code_challenge: encode(digest),
    code_challenge_method: 'S256',
    ...parameters,
  })
  const answer = await answerFrom(open, `${metadata.authorization_endpoint}?${request}`)
  if (answer.get('state') !== state || answer.get('iss') !== issuer) throw new Error('not our answer')
  if (answer.has('error')) return { error: answer.get('error') }
  const grant = { grant_type: 'authorization_code', code: answer.get('code'), redirect_uri, client_id }
  return useTokens(metadata, await post(metadata.token_endpoint, { ...grant, code_verifier }))
}

function answerFrom(open, url) {
  return new Promise((resolve) => {
    const close = open(url)
    addEventListener('message', function take({ origin, data }) {
      if (origin !== location.origin) return
      removeEventListener('message', take)
      close?.()
      resolve(new URLSearchParams(data))
    })
  })
}

async function useTokens(metadata, tokens) {
  const headers = { authorization: `Bearer ${tokens.access_token}` }
  const userinfo = await json(fetch(metadata.userinfo_endpoint, { headers }))
  return { tokens, userinfo }
}

async function post(url, form) {
  return json(fetch(url, { method: 'POST', body: new URLSearchParams(form) }))
}

async function json(answer) {
  return (await answer).json()
}

function signIn() {
  return flow({}, (url) => void window.open(url, 'sign-in', 'popup'))
}

function renew() {
  return flow({ prompt: 'none' }, (url) => {
    const frame = document.createElement('iframe')
    frame.hidden = true
    frame.src = url
    document.body.append(frame)
    return () => frame.remove()
  })
}

async function refresh({ refresh_token }) {
  const metadata = await json(fetch(`${issuer}/.well-known/openid-configuration`))
  const form = { grant_type: 'refresh_token', refresh_token, client_id }
  return useTokens(metadata, await post(metadata.token_endpoint, form))
}

/** What a script gets to see of a userinfo endpoint that refuses, and of a revocation. */
async function revoke({ access_token }) {
  const metadata = await json(fetch(`${issuer}/.well-known/openid-configuration`))
  const answer = await post(metadata.revocation_endpoint, { token: access_token, client_id })
  const headers = { authorization: `Bearer ${access_token}` }
  const refused = await fetch(metadata.userinfo_endpoint, { headers })
  return { answer, status: refused.status, challenge: refused.headers.get('www-authenticate') }
}
