/** The mail by which people hear of a request. */
import type { FastifyInstance } from 'fastify'
import type { BackchannelCall } from '../../../../src/doors/authentication-device.ts'
import { message } from '../../../../src/protocol/message.ts'
import type { Letter } from '../../../mail/letters.ts'
import { readerOf } from '../../../mail/reader-of.ts'
import { verifiedAddressOf } from '../../../mail/verified-address-of.ts'
import { faceOf } from '../../../pages/client-view.ts'

export function addLetter(fastify: FastifyInstance): void {
  fastify.oauth.add('authenticationDevice', {
    name: 'mail',
    async reach(call) {
      const to = verifiedAddressOf(call.user)
      if (to === null || !fastify.hasDecorator('letters') || !fastify.letters.isOn()) return false
      await fastify.letters.send(to, letterOf(call), await readerOf(fastify, call.user))
      return true
    },
  })
}

function letterOf({ client, user, uri, bindingMessage, address, expiresAt }: BackchannelCall): Letter {
  const { name: app } = faceOf(client)
  const shown =
    bindingMessage === undefined
      ? []
      : [message('The app shows you this, too: {message}', { message: bindingMessage })]
  return {
    subject: message('{app} asks for your approval', { app }),
    paragraphs: [
      message('{app} asks for your approval, from the address {address}.', { app, address }),
      ...shown,
      message('Account: {username}', { username: user.username }),
      message('You can decide until {time}.', { time: new Date(expiresAt) }),
    ],
    button: { text: message('See what it asks for'), href: uri },
    otherwise: message(
      'If you did not expect this, deny it there, or do nothing: without you, the app gets nothing.',
    ),
  }
}
