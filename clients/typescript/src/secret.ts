/**
 * An API key, a token or another secret that no server has issued: it has a space, a line break or a character beyond
 * ASCII inside. The error does not contain the secret.
 */
export class SecretError extends TypeError {
  override readonly name = 'SecretError'
}

/**
 * A secret without the spaces and line breaks around it, which files and mounted secrets often have. Throws SecretError
 * if a character inside is not visible ASCII. name is what the caller calls it. @internal
 */
export function checked(name: string, secret: string): string {
  const text = secret.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '')
  if (/[^!-~]/.test(text)) {
    throw new SecretError(`the ${name} is not valid: it contains a space, a line break or a character beyond ASCII`)
  }
  return text
}
