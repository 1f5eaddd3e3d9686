/** What administrators read of why a receiver did not take an event, for each reason that there is. @needs latchkey-shared-signals */
import { expect, test } from 'vitest'
import { wordsOfFailure } from '../../../plugins/shared-signals/failure-words.ts'
import { inEnglish } from '../../../src/protocol/message.ts'

test.each([
  ['it answered with 301', 'no redirect is followed'],
  ['it answered with 401: authentication_failed', 'It answered with 401: it does not let this server in.'],
  ['it answered with 403', 'does not let this server in'],
  ['it answered with 404', 'nobody takes events at its address'],
  ['it answered with 410', 'nobody takes events at its address'],
  ['it answered with 400: invalid_key', 'It answered with 400: it did not take the event.'],
  ['it answered with 429', 'it wants fewer events at a time'],
  ['it answered with 503', 'it has a failure of its own'],
  ['no whole answer came in time', 'within 5 seconds'],
  ['no answer came (UND_ERR_CONNECT_TIMEOUT)', 'within 5 seconds'],
  ['it took longer than 15 seconds', 'within 5 seconds'],
  ['no answer came (ENOTFOUND)', 'Its name leads nowhere'],
  ['no answer came (EAI_AGAIN)', 'Its name leads nowhere'],
  ['no answer came (DEPTH_ZERO_SELF_SIGNED_CERT)', 'Its certificate is not good here'],
  ['no answer came (CERT_HAS_EXPIRED)', 'Its certificate is not good here'],
  ['no answer came (UNABLE_TO_VERIFY_LEAF_SIGNATURE)', 'Its certificate is not good here'],
  ['no answer came (ERR_TLS_CERT_ALTNAME_INVALID)', 'Its certificate is not good here'],
  ['no answer came (ECONNREFUSED)', 'Nothing answers at its address'],
  ['no answer came', 'Nothing answers at its address'],
  ['the address is not of the public internet', 'UNSAFE_OUTBOUND_ORIGINS'],
  ['the address is not https', 'UNSAFE_OUTBOUND_ORIGINS'],
  ['the proxy answers 407', 'OUTBOUND_PROXY'],
  ['the answer has more than 65536 bytes', 'an empty answer is enough'],
  ['it did something new', 'It did not take the event: it did something new'],
])('%s', (text, words) => {
  expect(inEnglish(wordsOfFailure(text))).toContain(words)
})
