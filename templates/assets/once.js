// A form is sent once: of a double click, the answer to the second would stand in the place of the first one's.
const sent = new WeakSet()
addEventListener('submit', (event) => {
  if (sent.has(event.target)) return event.preventDefault()
  sent.add(event.target)
  // It may be sent again when the answer does not come, or when people come back to it.
  setTimeout(() => sent.delete(event.target), 3000)
})
