/** `upstream create|list|show|update|delete`: providers by which people sign in here. */
import type { Command } from 'commander'
import type { UpstreamInformation } from '../protocol/upstream-information.ts'
import { recordCommand } from './record.ts'

export function upstreamCommand(): Command {
  return recordCommand<UpstreamInformation>({
    name: 'upstream',
    description: 'upstreams: providers by which people sign in here',
    ending: 'remove an upstream: nobody signs in by it from then on',
    identifier: 'id',
    members: [
      { name: 'kind', value: 'text', text: 'openid (default), github, apple, or oauth2: OAuth 2.0 alone' },
      {
        name: 'issuer',
        value: 'uri',
        text: 'its issuer, as its metadata has it; of github.com and Apple it is known',
      },
      { name: 'client_id', value: 'text', text: 'what this server is called there' },
      {
        name: 'client_secret',
        value: 'text',
        text: 'its secret there, of Apple its key; kept encrypted, and never shown',
      },
      { name: 'name', value: 'text', text: 'what people read on its button' },
      {
        name: 'scope',
        value: 'list',
        text: 'what is asked for; by default "openid profile email", of GitHub "read:user user:email", of Apple "name email"',
      },
      { name: 'domains', value: 'list', text: 'domains of mail addresses that are its people’s' },
      { name: 'trust_email', value: 'yes', text: 'true: an address of these that it verified is believed' },
      {
        name: 'sign_up',
        value: 'yes',
        text: 'true: whoever comes from there gets an account; false: nobody',
      },
      { name: 'sign_out', value: 'yes', text: 'true: who signs out here is led there to sign out too' },
      { name: 'button', value: 'yes', text: 'false: people find it by their address instead' },
      { name: 'claims', value: 'pairs', text: 'claims by other names there, such as "email=mail"' },
      { name: 'team_id', value: 'text', text: 'of Apple: the Team ID' },
      { name: 'key_id', value: 'text', text: 'of Apple: the Key ID' },
      { name: 'authorization_endpoint', value: 'uri', text: 'of OAuth 2.0 alone: where people sign in' },
      { name: 'token_endpoint', value: 'uri', text: 'of OAuth 2.0 alone: where codes are exchanged' },
      { name: 'userinfo_endpoint', value: 'uri', text: 'of OAuth 2.0 alone: what says who somebody is' },
      {
        name: 'token_endpoint_auth_method',
        value: 'text',
        text: 'of OAuth 2.0 alone: client_secret_basic (default) or client_secret_post',
      },
      {
        name: 'subject_claim',
        value: 'text',
        text: 'of OAuth 2.0 alone: what it calls who somebody is by; by default sub',
      },
    ],
    toLine: ({ id, issuer, name = '' }) => [id, issuer, name].filter((one) => one !== '').join('  '),
    find: async ({ upstreams }, id) => upstreams.find(id),
    list: async ({ upstreams }, options) => upstreams.list(options),
    save: async ({ upstreams }, members, options) => upstreams.save(members, options),
    delete: async ({ upstreams }, id) => upstreams.delete(id),
  })
}
