// Owns in which order the connections of the load generator take their requests, which are built before the window where that is
// possible.

import { render, type Supply } from './feed.ts'
import { flows } from './flow.ts'
import type { Prepare } from './load-protocol.ts'

export function createSupply(prepare: Prepare): Supply {
  if (prepare.order === 'chained') return chained(prepare)
  const [first] = prepare.requests
  if (typeof first === 'object' && 'flow' in first) return flows(prepare)
  const bytes = prepare.requests.map((request) => render(prepare, request))
  return prepare.order === 'once' ? once(bytes) : repeated(bytes)
}

function repeated(bytes: Buffer[]): Supply {
  let position = 0
  const next = () => {
    const taken = bytes[position]
    position = (position + 1) % bytes.length
    return taken
  }
  return () => ({ next, answered: () => undefined })
}

function once(bytes: Buffer[]): Supply {
  let position = 0
  return () => ({ next: () => bytes[position++], answered: () => undefined })
}

/** A connection that sends a refresh token again after an error sends the one that it has. */
function chained(prepare: Prepare): Supply {
  const forms = prepare.requests.map((request) => {
    if (request === 'get' || !('body' in request)) throw new Error('a chain is made of forms')
    return new URLSearchParams(request.body)
  })
  return (connection) => {
    const form = forms[connection]
    if (!form) throw new Error(`${forms.length} chains, and none for connection ${connection}`)
    return {
      next: () => render(prepare, { body: form.toString() }),
      answered: ({ refresh_token }) => form.set('refresh_token', String(refresh_token)),
    }
  }
}
