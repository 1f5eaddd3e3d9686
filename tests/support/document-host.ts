/** A host that has metadata documents of clients, as its owner may change them at any time. */
import type { ServerResponse } from 'node:http'
import type { Certificate } from './deployed.ts'
import { REDIRECT_URI } from './sign-in.ts'
import { startReceiver } from './receiver.ts'

export interface DocumentHost {
  origin: string
  host: string
  /** The address of a document. */
  at(name: string): string
  /** Puts one there, with its own address as `client_id` and what a client needs; returns the address. */
  publish(name: string, members?: Record<string, unknown>, headers?: Record<string, string>): string
  /** What is answered there from now on. */
  answer(name: string, answer: (response: ServerResponse) => unknown): string
  /** How often it was asked for. */
  asked(name: string): number
}

/** By https where it has a certificate, of the name `localhost`. */
export async function startDocumentHost(certificate?: Certificate): Promise<DocumentHost> {
  const answers = new Map<string, (response: ServerResponse) => unknown>()
  const receiver = await startReceiver(
    ({ url }, response) => {
      const answer = answers.get(url.slice(1))
      return answer === undefined ? response.writeHead(404).end('nothing here') : answer(response)
    },
    certificate === undefined ? {} : { certificate },
  )
  const scheme = certificate === undefined ? 'http://127.0.0.1' : 'https://localhost'
  const origin = `${scheme}:${receiver.port}`
  const at = (name: string): string => `${origin}/${name}`
  return {
    origin,
    host: new URL(origin).host,
    at,
    publish(name, members = {}, headers = {}) {
      const document = {
        client_id: at(name),
        client_name: 'Notes',
        redirect_uris: [REDIRECT_URI],
        ...members,
      }
      const body = JSON.stringify(document)
      answers.set(name, (response) =>
        response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(body),
      )
      return at(name)
    },
    answer(name, answer) {
      answers.set(name, answer)
      return at(name)
    },
    asked: (name) => receiver.received.filter(({ url }) => url === `/${name}`).length,
  }
}
