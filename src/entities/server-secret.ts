/** A random secret that all processes share for ever, encrypted under SECRET_KEY before it comes here. */
import { defineEntity, p } from './define.ts'

const ServerSecretSchema = defineEntity({
  name: 'ServerSecret',
  tableName: 'server_secrets',
  properties: {
    name: p.text().primary(),
    sealed: p.text(),
    createdAt: p
      .datetime()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
  },
})

export class ServerSecret extends ServerSecretSchema.class {}
ServerSecretSchema.setClass(ServerSecret)
