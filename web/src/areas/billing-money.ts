import { type Money } from '@atrium-hq/client'

/** An amount in the smallest unit of its currency, as people write it. */
export function money({ amount, currency }: Money): string {
  const format = new Intl.NumberFormat(undefined, { style: 'currency', currency })
  return format.format(amount / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2))
}
