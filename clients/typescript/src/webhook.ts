import { checked } from './secret.js'

/** A webhook that is not genuine, or too old. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError'
}

/** The most seconds between the time of a webhook and now. */
const tolerance = 300

/**
 * Returns the content of a webhook that one of the secrets signed within five minutes, as the Standard Webhooks
 * specification describes. Give it the body exactly as it was received. Throws WebhookError.
 */
export async function verifyWebhook<T = unknown>(
  body: string | Uint8Array,
  headers: Headers | Record<string, string | string[] | undefined>,
  secrets: string | string[],
  now: Date = new Date(),
): Promise<T> {
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
    throw new TypeError('pass the raw body of the request, not one that was parsed')
  }
  if (!secrets?.length) throw new TypeError('the secret of the webhook is missing')
  const get = (name: string) => {
    if (typeof headers.get === 'function') return (headers as Headers).get(name) ?? ''
    const found = Object.entries(headers).find(([n]) => n.toLowerCase() === name)?.[1]
    return (Array.isArray(found) ? found[0] : found) ?? ''
  }
  const [id, at, signatures] = [get('webhook-id'), get('webhook-timestamp'), get('webhook-signature')]
  if (!id || !signatures || !/^\d{1,12}$/.test(at)) throw new WebhookError('a header of the webhook is missing or invalid')
  if (Math.abs(now.getTime() / 1000 - Number(at)) > tolerance) throw new WebhookError('the webhook is too old or too new')
  const text = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const head = new TextEncoder().encode(`${id}.${at}.`)
  const signed = new Uint8Array(head.length + text.length)
  signed.set(head)
  signed.set(text, head.length)
  for (const secret of [secrets].flat()) {
    const raw = decode(checked('secret of the webhook', secret).replace(/^whsec_/, ''))
    if (!raw?.length) throw new TypeError('the secret of the webhook is not valid base64')
    const key = await crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
    for (const signature of signatures.split(' ')) {
      const mac = signature.startsWith('v1,') ? decode(signature.slice(3)) : undefined
      if (mac && (await crypto.subtle.verify('HMAC', key, mac, signed))) {
        return JSON.parse(new TextDecoder().decode(text)) as T
      }
    }
  }
  throw new WebhookError('no signature of the webhook is valid')
}

function decode(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))
  } catch {
    return undefined
  }
}
