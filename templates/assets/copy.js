// Copies what has to be taken elsewhere; without it, people select the text.
const words = document.currentScript.dataset
for (const box of document.querySelectorAll('.copy')) {
  const text = box.querySelector('code')
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = words.copy
  button.setAttribute('aria-label', box.dataset.label)
  const said = document.createElement('span')
  said.setAttribute('role', 'status')
  said.className = 'small'
  // No leave to, or no https: it is selected, and one key copies it.
  const select = () => {
    getSelection().selectAllChildren(text)
    said.textContent = words.selected
  }
  const copy = () => navigator.clipboard.writeText(text.textContent)
  button.addEventListener('click', () => {
    Promise.resolve()
      .then(copy)
      .then(() => {
        said.textContent = words.copied
      })
      .catch(select)
  })
  box.append(button, said)
}
