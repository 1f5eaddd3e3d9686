// Adds passkeys on the account, and tells their keepers what has changed. Without it, the others can be named and deleted all the same.
const accountWords = document.currentScript.dataset
const Credential = globalThis.PublicKeyCredential

for (const form of document.querySelectorAll('#add-passkey-form')) {
  const { options, origin } = form.dataset
  // Who signed in too long ago does it once more first, by the form as it is.
  if (options === '') continue
  const { credential, 'add-passkey': button } = form.elements
  const said = form.querySelector('#passkey-said')
  // A development server may be open under another name, for which no passkeys are made.
  if (!Credential?.parseCreationOptionsFromJSON || location.origin !== origin) {
    said.textContent = accountWords.cannot
    continue
  }

  button.addEventListener('click', async () => {
    said.textContent = ''
    button.disabled = true
    try {
      const publicKey = Credential.parseCreationOptionsFromJSON(JSON.parse(options))
      credential.value = JSON.stringify(await navigator.credentials.create({ publicKey }))
      form.requestSubmit()
    } catch (error) {
      if (error.name === 'InvalidStateError') said.textContent = accountWords.known
      // Who changes their mind, or waits too long, is told nothing: they know.
      else if (error.name !== 'NotAllowedError' && error.name !== 'AbortError')
        said.textContent = accountWords.failed
    } finally {
      button.disabled = false
    }
  })
  button.hidden = false
}

// Offered where it can be taken.
for (const offer of document.querySelectorAll('#passkey-offer'))
  offer.hidden = !Credential?.parseCreationOptionsFromJSON || location.origin !== offer.dataset.origin

for (const element of document.querySelectorAll('#passkey-signals')) {
  const { rpId, userId, allAcceptedCredentialIds, name, displayName } = JSON.parse(element.dataset.signals)
  Credential?.signalAllAcceptedCredentials?.({ rpId, userId, allAcceptedCredentialIds }).catch(() => {})
  Credential?.signalCurrentUserDetails?.({ rpId, userId, name, displayName }).catch(() => {})
}
