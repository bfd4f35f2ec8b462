// Whose page this is. Several people can use a browser, one after another, and its storage has what each of them types.

// The session is a cookie that scripts cannot read, and this proof, which pages of other ports cannot read.
export const PROOF = 'atrium_proof'
const PERSON = 'atrium_person' // the id of the person whose session it is: the page to sign in writes it, too

/** The id of the person whose page this is. */
export const person = localStorage.getItem(PERSON)

/** Whether the browser's session is still that person's. Another window can sign out, or sign somebody else in. */
export const isTheirs = () => localStorage.getItem(PERSON) === person

/** The proof of the person's session. A page never acts for the next person. */
export const proof = () => (isTheirs() ? localStorage.getItem(PROOF) : null)

/** Takes over a session that an earlier version of the sign-in page opened, which did not name its person. */
export function adopt(id: string) {
  localStorage.setItem(PERSON, id)
  location.reload()
}

/** The key of the browser's storage for something that is only this person's. */
export const keyOf = (what: string, of: string) => `atrium_${what}_${person}_${of}`

/** Removes everything that the pages keep in the browser. */
export function forget() {
  for (const storage of [localStorage, sessionStorage]) {
    for (const key of Object.keys(storage)) if (key.startsWith('atrium_')) storage.removeItem(key)
  }
}

/** Leads to the page to sign in, without a way back. */
export function leave() {
  location.replace(new URL('sign-in', document.baseURI))
}

function check() {
  if (!isTheirs()) leave()
}

addEventListener('storage', check)
addEventListener('pageshow', (e) => { if (e.persisted) check() }) // the browser shows a page again as it was
