import { type Money } from '@atrium-hq/client'

/**
 * An amount as people write it. Its exponent, not the browser, says how many decimals it contains. A whole amount of a
 * currency that people write without decimals is shown without them.
 */
export function money({ amount, currency, exponent }: Money): string {
  const usual = new Intl.NumberFormat(undefined, { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2
  const isWhole = amount % 10 ** exponent === 0
  const digits = isWhole ? Math.min(usual, exponent) : exponent
  return new Intl.NumberFormat(undefined, {
    style: 'currency', currency, minimumFractionDigits: digits, maximumFractionDigits: digits,
  }).format(amount / 10 ** exponent)
}
