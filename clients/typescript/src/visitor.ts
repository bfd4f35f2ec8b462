import { checked } from './secret.js'

/**
 * Returns the signature with which your backend vouches for a visitor of an embedded chat, for a number of seconds (a
 * day unless you say otherwise). The secret is the `visitor_secret` of the embed token, and never belongs in a page.
 * Put the signature into `data-visitor-signature` beside `data-visitor`. Throws SecretError for a secret that cannot be
 * one.
 */
export async function signVisitor(secret: string, visitor: string, lasts = 86400): Promise<string> {
  const until = Math.floor(Date.now() / 1000) + lasts
  const bytes = (text: string) => new TextEncoder().encode(text)
  const key = await crypto.subtle.importKey('raw', bytes(checked('secret of the embed token', secret)), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  const mac = new Uint8Array(await crypto.subtle.sign('HMAC', key, bytes(`${until}.${visitor}`)))
  return `${until}.${Array.from(mac, (b) => b.toString(16).padStart(2, '0')).join('')}`
}
