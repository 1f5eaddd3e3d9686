// Answers apps that ask whether the browser is still signed in as it was (OpenID Connect Session Management 1.0 §3.2).
const { cookie } = document.currentScript.dataset

// Undefined where the browser keeps the cookie from frames: then nobody can tell.
function browserState() {
  const pairs = document.cookie.split('; ').map((pair) => pair.split('='))
  return pairs.find(([name]) => name === cookie)?.[1]
}

async function judge(origin, message) {
  const [, clientId, hash, salt] = /^(.{1,256}) ([\w-]{43})\.([\w-]{1,64})$/.exec(message) ?? []
  const state = browserState()
  if (clientId === undefined || state === undefined) return 'error'
  const text = new TextEncoder().encode([clientId, origin, state, salt].join(' '))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', text))
  const encoded = btoa(String.fromCharCode(...digest))
  const now = encoded.replaceAll('+', '-').replaceAll('/', '_').replace('=', '')
  return now === hash ? 'unchanged' : 'changed'
}

addEventListener('message', ({ source, origin, data }) => {
  // A frame without an origin could be anybody's.
  if (source === null || source === window || origin === 'null') return
  void judge(origin, String(data))
    .catch(() => 'error')
    .then((answer) => source.postMessage(answer, origin))
})
