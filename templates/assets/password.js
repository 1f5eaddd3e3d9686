// Lets people see what they type in a password field; without it, the field is as it always was.
const words = document.currentScript.dataset
for (const box of document.querySelectorAll('.password')) {
  const input = box.querySelector('input')
  const button = document.createElement('button')
  const show = (visible) => {
    input.type = visible ? 'text' : 'password'
    button.textContent = visible ? words.hide : words.show
    button.setAttribute('aria-label', visible ? words.hidePassword : words.showPassword)
  }
  button.type = 'button'
  button.addEventListener('click', () => show(input.type === 'password'))
  // A browser keeps what was typed as text, and not what was typed as a password.
  input.form.addEventListener('submit', () => show(false))
  show(false)
  box.append(button)
}
