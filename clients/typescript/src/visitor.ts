import { checked } from './secret.js'

/**
 * Returns the signature with which your backend vouches for a visitor of an embedded chat, for a number of seconds (a
 * day unless you say otherwise). The secret is the `visitor_secret` of the embed token, and never belongs in a page.
 * Put the signature into `data-visitor-signature` beside `data-visitor`. With attributes, the text of a JSON object, the
 * page must pass exactly this text as `data-visitor-attributes`. Throws SecretError for a secret that cannot be one.
 */
export async function signVisitor(secret: string, visitor: string, lasts = 86400, attributes = ''): Promise<string> {
  const until = Math.floor(Date.now() / 1000) + lasts
  const bytes = (text: string) => new TextEncoder().encode(text)
  const hex = (data: ArrayBuffer) => Array.from(new Uint8Array(data), (b) => b.toString(16).padStart(2, '0')).join('')
  const text = attributes === '' ? `${until}.${visitor}`
    : `a${until}.${hex(await crypto.subtle.digest('SHA-256', bytes(attributes)))}.${visitor}`
  const key = await crypto.subtle.importKey('raw', bytes(checked('secret of the embed token', secret)), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  return `${until}.${hex(await crypto.subtle.sign('HMAC', key, bytes(text)))}`
}
