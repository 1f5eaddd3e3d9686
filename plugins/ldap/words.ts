/** What people of a directory read, each as a whole sentence or two. */
import { message, type Message } from '../../src/protocol/message.ts'

export const REFUSALS: Readonly<Record<'taken' | 'disabled' | 'nameless' | 'expired', Message>> = {
  taken: message(
    'Your user name and password are right, but there is an account here already with your user name or address. Ask those who run this service to link it with your entry in the directory.',
  ),
  disabled: message('Your account here is disabled. Ask those who run this service.'),
  nameless: message(
    'Your user name and password are right, but your entry in the directory has no user name that can be used here. Ask those who run this service.',
  ),
  expired: message(
    'Your password in the directory has expired. Change it there first, and then sign in with the new one.',
  ),
}
/** The same for a name that nobody has. */
export const NO_ANSWER = message(
  'We do not know this user name and password ourselves, and the directory that may know them does not answer. Try again in a minute.',
)
export const KEPT = message(
  'Your password, your name and your email address are kept in the directory of your organization, and are changed there.',
)
