document.body.dataset.badge = 'yes'
