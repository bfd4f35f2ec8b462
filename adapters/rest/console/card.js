// The page /console/card: Stripe's form for a card, in a document of its own, because its script may not run in the
// console. Texts of the server and of Stripe are only ever set as text.
'use strict'
const $ = (id) => document.getElementById(id)
const query = new URLSearchParams(location.search)
const workspace = query.get('workspace') || 'default'
const billing = new URL('w/' + encodeURIComponent(workspace) + '/billing', location.href)
// A reloaded form gets the same intent, because few can be open at a time.
const ATTEMPT = 'atrium_card_' + workspace

function say(text, code) {
  $('status').textContent = text
  $('more').hidden = !/^[a-z_]{1,60}$/.test(code || '')
  if (!$('more').hidden) $('problem').href = new URL('../problems/' + code, location.href)
}

// intent returns the setup intent of this attempt.
async function intent() {
  let attempt = sessionStorage.getItem(ATTEMPT)
  if (!attempt) {
    attempt = crypto.randomUUID()
    sessionStorage.setItem(ATTEMPT, attempt)
  }
  let response
  try {
    response = await fetch(new URL('../api/payments/setup-intent', location.href), {
      method: 'POST', body: '{}',
      headers: {
        Accept: 'application/json', 'Content-Type': 'application/json', 'Idempotency-Key': attempt, 'Workspace-Id': workspace,
        'Atrium-Console': localStorage.getItem('atrium_proof') || '',
      },
    })
  } catch {
    throw { detail: 'The server cannot be reached. Check your connection, then reload the page.' }
  }
  const answer = await response.json().catch(() => ({}))
  if (response.ok) return answer
  sessionStorage.removeItem(ATTEMPT)
  throw { code: answer.code || '', detail: answer.detail || 'The server responded with an error.' }
}

// finish leads back when Stripe has the payment method.
function finish() {
  sessionStorage.removeItem(ATTEMPT)
  $('form').hidden = true
  say('The payment method is saved.')
  billing.searchParams.set('added', 'true')
  location.assign(billing)
}

// ended says how an intent ended, and whether it did.
function ended(found) {
  if (['succeeded', 'processing'].includes(found.status)) finish()
  else if (found.status === 'canceled') sessionStorage.removeItem(ATTEMPT)
  else return false
  return true
}

async function start() {
  $('back').href = billing
  if (!window.Stripe) throw { detail: 'Stripe cannot be reached. Check your connection and your ad blocker, then reload the page.' }
  const made = await intent()
  const stripe = window.Stripe(made.publishable_key, made.account_id ? { stripeAccount: made.account_id } : {})
  const secret = query.get('setup_intent_client_secret') // the payer comes back from the bank
  if (secret) {
    history.replaceState(null, '', '?workspace=' + encodeURIComponent(workspace))
    const { setupIntent, error } = await stripe.retrieveSetupIntent(secret)
    if (setupIntent && ended(setupIntent)) return
    say(error?.message || setupIntent?.last_setup_error?.message || 'The bank did not confirm the card. Try another one.')
  } else {
    say('')
  }
  const dark = matchMedia('(prefers-color-scheme: dark)').matches
  const elements = stripe.elements({ clientSecret: made.client_secret, appearance: { theme: dark ? 'night' : 'stripe' } })
  elements.create('payment').mount('#card')
  $('form').hidden = false
  $('form').addEventListener('submit', async (event) => {
    event.preventDefault()
    $('save').disabled = true
    say('')
    const { setupIntent, error } = await stripe.confirmSetup({
      elements, redirect: 'if_required', confirmParams: { return_url: location.href },
    })
    $('save').disabled = false
    if (error) say(error.message || 'The card could not be saved.')
    else if (!ended(setupIntent)) say('The bank has not confirmed the card yet.')
  })
}

// Another tab signs the person out, or somebody else in: the form may have the number of a card.
addEventListener('storage', ({ key }) => { if (key === 'atrium_person') location.replace('sign-in') })
addEventListener('pageshow', ({ persisted }) => { if (persisted) location.reload() })

start().catch((problem) => say(problem.detail || 'Something went wrong on this page.', problem.code))
