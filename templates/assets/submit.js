// Sends the form_post response on; without it, people press the button. Old engines run this too.
document.getElementById('form-post').submit()
