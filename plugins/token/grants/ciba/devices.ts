/** Tells the person, on every device that they have (`authenticationDevice`), and on their account where that is. */
import type { FastifyInstance } from 'fastify'
import type { Client } from '../../../../src/doors/client.ts'
import type { User } from '../../../../src/doors/user.ts'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import type { BackchannelRequest } from './requests.ts'

/** Whether there is a way in which they can decide. */
export type ReachOnDevices = (asked: {
  user: User
  client: Client
  request: BackchannelRequest
}) => Promise<boolean>

/** The page of one request, below the issuer. */
export const APPROVE = '/approve'

export function createDevices(fastify: FastifyInstance): ReachOnDevices {
  const { oauth } = fastify
  const { doors } = kernelOf(fastify)
  return async ({ user, client, request }) => {
    const { id, approval, address, askedAt, expiresAt } = request
    const { bindingMessage } = approval
    const uri = `${oauth.issuer}${APPROVE}?${new URLSearchParams({ id }).toString()}`
    const asked = {
      user,
      client,
      uri,
      ...(bindingMessage === undefined ? {} : { bindingMessage }),
      address,
      askedAt,
      expiresAt,
    }
    const reaching = doors.all('authenticationDevice').map(async ({ name, reach }) => {
      try {
        return await reach(asked)
      } catch (error) {
        fastify.log.error({ err: error, device: name }, 'a person could not be reached on a device')
        return false
      }
    })
    const reached = await Promise.all(reaching)
    return reached.includes(true) || fastify.hasDecorator('account')
  }
}
