// The pages /console/sign-in and /console/join. Texts of the server are only ever set as text.
'use strict'
const $ = (id) => document.getElementById(id)
const page = document.body.dataset.page
const PROOF = 'atrium_proof', PERSON = 'atrium_person', INVITATION = 'atrium_invitation', RETURN = 'atrium_return'

// What the sign-in at a provider can end with. Any other code has only its page.
const FAILURES = {
  sign_in_state_invalid: 'This sign-in was not begun in this browser, or took more than 10 minutes. Sign in again.',
  sign_in_refused: 'The provider refused the sign-in, or you cancelled it.',
  provider_failed: 'The provider does not respond as it should. Try again later.',
  insufficient_user_authentication: 'The provider did not authenticate you recently enough, or without a second factor. Sign in again.',
  sign_up_closed: 'You have no account here. Ask an administrator to invite your e-mail address.',
  required_claim_missing: 'Your account at the provider lacks a claim that this organisation requires.',
  unauthenticated: 'Your account is disabled.',
  rate_limited: 'Too many attempts. Wait a minute, then try again.',
}

// call sends a request to the API, and throws its problem.
async function call(method, path, body) {
  const headers = { Accept: 'application/json' }
  const proof = localStorage.getItem(PROOF)
  if (proof) headers['Atrium-Console'] = proof
  if (body) headers['Content-Type'] = 'application/json'
  let response
  try {
    response = await fetch(new URL('../api/' + path, location.href), { method, headers, body: body && JSON.stringify(body) })
  } catch {
    throw { code: '', detail: 'The server cannot be reached. Check your connection, then try again.' }
  }
  const answer = response.status === 204 ? {} : await response.json().catch(() => ({}))
  if (!response.ok) throw { code: answer.code || '', detail: answer.detail || 'The server responded with an error.' }
  return answer
}

function say(text, code) {
  $('status').textContent = text
  $('more').hidden = !/^[a-z_]{1,60}$/.test(code || '')
  if (!$('more').hidden) $('problem').href = new URL('../problems/' + code, location.href)
}

function title(text) {
  $('heading').textContent = text
  document.title = text + ' · Atrium'
}

function show(...ids) {
  for (const id of ['link', 'ways', 'join', 'accept', 'signed-in']) $(id).hidden = !ids.includes(id)
}

// act runs what a button does, once at a time, and shows what went wrong.
function act(button, run) {
  return async (event) => {
    event.preventDefault()
    button.disabled = true
    say('')
    try {
      await run()
    } catch (problem) {
      say(problem.detail || 'Something went wrong on this page.', problem.code)
    }
    button.disabled = false
  }
}

function keep(opened) {
  belongsTo(opened.user)
  localStorage.setItem(PROOF, opened.proof)
}

// belongsTo notes who uses this browser. What an earlier person has left in it is removed.
function belongsTo(user) {
  if (localStorage.getItem(PERSON) === user.id) return
  const proof = localStorage.getItem(PROOF)
  forget(INVITATION, RETURN)
  if (proof) localStorage.setItem(PROOF, proof)
  localStorage.setItem(PERSON, user.id)
}

// forget removes what the console and these pages keep in this browser, except some keys.
function forget(...except) {
  for (const storage of [localStorage, sessionStorage]) {
    for (const key of Object.keys(storage)) if (key.startsWith('atrium_') && !except.includes(key)) storage.removeItem(key)
  }
}

// open swaps a token for a session.
async function open(token) {
  await enter(await call('POST', 'auth/sessions', { token }))
}

// openByPasskey asks the browser for a passkey of this host.
async function openByPasskey() {
  const { public_key } = await call('POST', 'auth/passkeys/challenge')
  let credential
  try {
    credential = await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(public_key) })
  } catch {
    throw { detail: 'The browser has no passkey for this site, or you cancelled.' }
  }
  await enter(await call('POST', 'auth/passkeys', { credential: credential.toJSON() }))
}

// enter goes where a new session leads.
async function enter(opened) {
  keep(opened)
  if (opened.return_to) {
    const next = new URL('..' + opened.return_to, location.href)
    if (next.origin === location.origin && next.pathname.startsWith(new URL('./', location.href).pathname) &&
      next.pathname !== location.pathname) {
      location.assign(next)
      return
    }
  }
  if (page === 'join') {
    await start()
    return
  }
  location.assign(sessionStorage.getItem(INVITATION) ? 'join' : consoleAddress())
}

// consoleAddress returns the address of the screen that led here, unless it was another person's, or of the console.
function consoleAddress() {
  const home = new URL('./', location.href)
  let back
  try {
    const left = JSON.parse(sessionStorage.getItem(RETURN))
    back = new URL(left.person && left.person !== localStorage.getItem(PERSON) ? home : left.href)
  } catch {
    back = home
  }
  sessionStorage.removeItem(RETURN)
  return back.origin === home.origin && back.pathname.startsWith(home.pathname) && back.pathname !== location.pathname ? back : home
}

// me returns the signed-in person, or null.
async function me() {
  const sent = localStorage.getItem(PROOF)
  if (!sent) return null
  try {
    const who = await call('GET', 'me')
    belongsTo(who.user)
    return who
  } catch (problem) {
    if (problem.code !== 'unauthenticated') throw problem
    if (localStorage.getItem(PROOF) !== sent) return me() // another tab has signed in meanwhile
    localStorage.removeItem(PROOF)
    say('Your session has ended. Sign in again.')
    return null
  }
}

// offer shows the ways to sign in, besides other parts of the page. A person who signs in again does it at the provider,
// too, which would know them otherwise.
let again = false
async function offer(...parts) {
  const methods = await call('GET', 'auth/methods')
  if (page === 'sign-in') title('Sign in to ' + methods.org.name)
  $('providers').replaceChildren(...methods.oidc.map((provider) => {
    const link = document.createElement('a'), item = document.createElement('li')
    const to = new URL(provider.url)
    if (page === 'join') to.searchParams.set('return_to', '/console/join')
    if (again) to.searchParams.set('max_age', '0')
    link.href = to.href
    link.className = 'button'
    link.textContent = 'Sign in with ' + provider.title
    item.append(link)
    return item
  }))
  $('by-mail').hidden = !methods.mail
  $('by-passkey').hidden = !(methods.passkeys && window.PublicKeyCredential?.parseRequestOptionsFromJSON)
  show('ways', ...parts)
}

function signedIn(who) {
  $('who').textContent = who.user.name || who.user.email || who.user.id
  $('workspaces').replaceChildren(...(who.workspaces || []).map((workspace) => {
    const item = document.createElement('li'), link = document.createElement('a')
    link.href = 'w/' + encodeURIComponent(workspace.slug) + '/prompts'
    link.textContent = workspace.name
    item.append(link)
    return item
  }))
}

async function startSignIn() {
  const who = await me()
  if (!who) return offer()
  title('You are signed in')
  signedIn(who)
  show('signed-in')
}

async function startJoin() {
  const token = sessionStorage.getItem(INVITATION)
  if (!token) {
    say('This page needs the link of an invitation. Open it again.')
    show()
    return
  }
  const invitation = await call('POST', 'invitations/preview', { token })
  title('Join ' + invitation.workspace_name)
  $('about').textContent = (invitation.inviter_name || 'A member') + ' invites ' + invitation.email + ' as ' +
    invitation.role + '.'
  $('about').hidden = false
  const who = await me()
  if (who) signedIn(who)
  if (invitation.sign_in || (who && sameAddress(who.user.email, invitation.email))) {
    if (who) return show('accept', 'signed-in')
    say('Sign in to accept the invitation.')
    return offer()
  }
  if (who) return show('join', 'signed-in')
  say('Join with a new account or, if you have one, sign in to accept the invitation.')
  return offer('join')
}

function sameAddress(one, other) {
  return (one || '').toLowerCase() === other.toLowerCase()
}

async function joined(name) {
  sessionStorage.removeItem(INVITATION)
  title('You joined ' + name)
  $('about').hidden = true
  const who = await me()
  if (who) signedIn(who)
  show('signed-in')
}

const start = page === 'join' ? startJoin : startSignIn

$('by-passkey').addEventListener('click', act($('by-passkey'), openByPasskey))
$('by-key').addEventListener('submit', act($('by-key').querySelector('button'), async () => {
  const key = $('key').value.trim()
  $('key').value = ''
  await open(key)
}))
$('by-mail').addEventListener('submit', act($('by-mail').querySelector('button'), async () => {
  await call('POST', 'auth/links', { email: $('email').value.trim() })
  say('If a person has this address, a link is on its way. It works for 15 minutes.')
}))
$('join').addEventListener('submit', act($('join').querySelector('button'), async () => {
  const name = $('name').value.trim(), token = sessionStorage.getItem(INVITATION)
  const workspace = $('heading').textContent.replace(/^Join /, '')
  const { mail } = await call('GET', 'auth/methods')
  try {
    keep(await call('POST', 'invitations/join', name ? { token, name } : { token }))
  } catch (problem) {
    if (problem.code !== 'sign_in_required') throw problem
    await offer()
    say('This address has an account. ' + (mail ? 'We have mailed it a link: sign in with it, then reload this page.' :
      'Sign in to accept the invitation.'))
    return
  }
  await joined(workspace)
  if (mail) say('We have mailed you a link. Open it in this browser to confirm your e-mail address.')
}))
$('accept-now').addEventListener('click', act($('accept-now'), async () => {
  const accepted = await call('POST', 'invitations/accept', { token: sessionStorage.getItem(INVITATION) })
  await joined(accepted.name || $('heading').textContent.replace(/^Join /, ''))
}))
for (const [id, path] of [['sign-out', 'auth/session'], ['sign-out-all', 'me/sessions']]) {
  $(id).addEventListener('click', act($(id), async () => {
    const invitation = page === 'join' && sessionStorage.getItem(INVITATION) // it may be for another account
    await call('DELETE', path) // and the browser forgets everything
    forget()
    if (invitation) sessionStorage.setItem(INVITATION, invitation)
    await start()
    say('You are signed out.')
    $('heading').focus()
  }))
}

// showLink names the account that a link opens, and the one that the browser would leave: a stranger can send a link.
async function showLink(token) {
  let account
  try {
    account = await call('POST', 'auth/links/preview', { token })
  } catch (problem) {
    await start()
    throw problem
  }
  const methods = await call('GET', 'auth/methods')
  const who = await me()
  $('link-who').textContent = nameOf(account)
  $('replaces').hidden = !who || who.user.id === account.user_id
  if (!$('replaces').hidden) {
    $('replaced').textContent = nameOf(who.user)
    $('use-link').textContent = 'Change to ' + nameOf(account)
  }
  title('Sign in to ' + methods.org.name)
  show('link')
}

function nameOf(user) {
  return user.name && user.email ? user.name + ' (' + user.email + ')' : user.name || user.email || user.id || user.user_id
}

// begin reads the fragment, and removes it from the address and the history.
async function begin() {
  const given = new URLSearchParams(location.hash.slice(1))
  const token = given.get('token'), code = given.get('code'), error = given.get('error')
  again = given.has('again') || error === 'insufficient_user_authentication'
  if (location.hash) history.replaceState(null, '', location.pathname)
  if (page === 'join') {
    if (token) sessionStorage.setItem(INVITATION, token)
    return start()
  }
  if (token) { // programs that scan mails follow links, too: a person clicks
    $('use-link').addEventListener('click', act($('use-link'), async () => {
      try {
        await open(token)
      } catch (problem) {
        await offer()
        throw problem
      }
    }))
    return showLink(token)
  }
  if (code) {
    try {
      return await open(code)
    } catch (problem) {
      await offer()
      throw problem
    }
  }
  await (again ? offer() : start())
  if (error) say(FAILURES[error] || 'The sign-in did not succeed.', error)
}

// Another tab signs the person out, or somebody else in, or the browser shows this page again as it was.
function change() {
  if (page === 'join' || !$('signed-in').hidden) location.reload()
}
addEventListener('storage', ({ key }) => { if (key === PERSON) change() })
addEventListener('pageshow', ({ persisted }) => { if (persisted) change() })

// Another link, in the same tab.
addEventListener('hashchange', () => { if (location.hash) location.reload() })
begin().catch((problem) => say(problem.detail || 'Something went wrong on this page.', problem.code))
