// Signs in with a passkey: by the button, and by what the browser suggests at the user name. Without it, the button stays hidden.
const signInWords = document.currentScript.dataset
for (const form of document.querySelectorAll('#passkey-form')) {
  const { credential, passkey: button } = form.elements
  const said = form.querySelector('#passkey-said')
  const { options, origin, unknown } = form.dataset
  const Credential = globalThis.PublicKeyCredential
  // A development server may be open under another name, at which its passkeys are none.
  if (!Credential?.parseRequestOptionsFromJSON || location.origin !== origin) continue

  let suggesting = new AbortController()
  const asked = (more) => ({
    publicKey: Credential.parseRequestOptionsFromJSON(JSON.parse(options)),
    ...more,
  })
  const send = (chosen) => {
    credential.value = JSON.stringify(chosen)
    form.requestSubmit()
  }

  const suggest = async () => {
    // Whoever is asked for something else has not asked for it.
    if (form.closest('[data-quiet]') || !(await Credential.isConditionalMediationAvailable?.())) return
    suggesting = new AbortController()
    // Nobody took one, or the button did: nothing is to be said.
    await navigator.credentials
      .get(asked({ mediation: 'conditional', signal: suggesting.signal }))
      .then(send, () => {})
  }

  button.addEventListener('click', async () => {
    suggesting.abort()
    said.textContent = ''
    button.disabled = true
    try {
      send(await navigator.credentials.get(asked()))
    } catch (error) {
      // Who changes their mind, or waits too long, is told nothing: they know.
      if (error.name !== 'NotAllowedError' && error.name !== 'AbortError')
        said.textContent = signInWords.cannot
      void suggest()
    } finally {
      button.disabled = false
    }
  })

  form.hidden = false
  if (unknown !== '')
    Credential.signalUnknownCredential?.({
      rpId: JSON.parse(options).rpId,
      credentialId: unknown,
    }).catch(() => {})
  void suggest()
}
