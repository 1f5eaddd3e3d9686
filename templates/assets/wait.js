// Counts the seconds down until another try is looked at; without it, the page says the time of day.
const labels = document.currentScript.dataset
const box = document.currentScript.parentElement
const counter = box.querySelector('[role="timer"]')
const { form } = document.querySelector(`[aria-describedby~="${box.id}"]`)
const button = form.querySelector('.primary')
const end = performance.now() + Number(counter.textContent) * 1000

function count() {
  const seconds = Math.ceil((end - performance.now()) / 1000)
  if (seconds <= 0) {
    clearInterval(counting)
    button.disabled = false
    box.className = 'notice'
    box.textContent = labels.ready
    return
  }
  counter.textContent = seconds
  box.querySelector('.unit').textContent = seconds === 1 ? labels.one : labels.other
}

box.querySelector('.until').remove()
button.disabled = true
const counting = setInterval(count, 250)
