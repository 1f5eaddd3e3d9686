/** What is known of a user, member by member, as people call it in the midst of a sentence. */
import { type Message, message, type Words } from '../../src/protocol/message.ts'

/** Names of OpenID Connect Core §5.1, and the server's own. */
const MEMBERS: ReadonlyMap<string, Message> = new Map([
  ['username', message('user name')],
  ['roles', message('roles')],
  ['name', message('full name')],
  ['given_name', message('given name')],
  ['middle_name', message('middle name')],
  ['family_name', message('family name')],
  ['nickname', message('nickname')],
  ['gender', message('gender')],
  ['birthdate', message('date of birth')],
  ['picture', message('picture')],
  ['profile', message('profile page')],
  ['website', message('website')],
  ['locale', message('language')],
  ['zoneinfo', message('time zone')],
  ['phone_number', message('phone number')],
  ['phone_number_verified', message('whether the phone number is confirmed')],
  ['email', message('email address')],
  ['email_verified', message('whether the email address is confirmed')],
  ['address', message('postal address')],
])

/** Also in another language, as `name#de` (§5.2); what plugins keep is called as they call it. */
export function wordsOfMember(name: string): Words {
  const [base = name, language] = name.split('#', 2)
  const words = MEMBERS.get(base) ?? base.replaceAll('_', ' ')
  return language === undefined ? words : message('{member} ({language})', { member: words, language })
}
