// Ways to keep the codes: without it, people write them down, or select the text.
const codesWords = document.currentScript.dataset
const box = document.querySelector('.codes')
const text = [...box.querySelectorAll('code')].map(({ textContent }) => `${textContent}\n`).join('')
const said = document.createElement('span')
said.setAttribute('role', 'status')
said.className = 'small'

// No leave to, or no https: they are selected, and one key copies them.
const select = () => {
  getSelection().selectAllChildren(box.querySelector('ul'))
  said.textContent = codesWords.selected
}

const copy = () =>
  Promise.resolve()
    .then(() => navigator.clipboard.writeText(text))
    .then(() => {
      said.textContent = codesWords.copied
    })
    .catch(select)

const download = () => {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  link.download = `recovery-codes-${box.dataset.name.replace(/[^\w.-]/g, '-')}.txt`
  link.click()
  URL.revokeObjectURL(link.href)
}

const ways = document.createElement('p')
ways.className = 'ways'
for (const [name, work] of [
  [codesWords.copy, copy],
  [codesWords.download, download],
  [codesWords.print, () => print()],
]) {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = name
  button.addEventListener('click', work)
  ways.append(button)
}
box.append(ways, said)
