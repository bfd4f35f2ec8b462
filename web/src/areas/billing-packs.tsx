import { type CreditPack } from '@atrium-hq/client'
import { useState } from 'react'
import { atrium } from '../api'
import { useMutation } from '../app/mutation'
import { useWorkspace } from '../app/workspace'
import { Button, Card, fieldErrors, Problem } from '../ui/basics'
import { Form, Input } from '../ui/form'
import { Dialog } from '../ui/overlays'
import { words } from '../text/billing'
import { money } from './billing-money'

/** What can be bought once, also without a plan. */
export function CreditPacks({ packs, onDone }: { packs: CreditPack[]; onDone: () => unknown }) {
  const [chosen, setChosen] = useState<CreditPack>()
  const offered = packs.filter((p) => p.available)
  if (offered.length === 0) return null
  return (
    <Card title={words.creditPacks}>
      <ul className="m-0 list-none p-0">
        {offered.map((p) => (
          <li key={p.id} className="flex flex-wrap items-center gap-2 border-b border-line py-2 last:border-0">
            <span className="me-auto">
              <span className="font-medium">{p.name}</span>
              <span className="block text-soft">
                {money(p.price)}, {p.expires_after_days === null ? words.doesNotExpire : words.expiresAfter(p.expires_after_days)} {p.description}
              </span>
            </span>
            <Button onClick={() => setChosen(p)}>{words.buyDialog}</Button>
          </li>
        ))}
      </ul>
      {chosen && <Buy pack={chosen} onClose={() => setChosen(undefined)} onDone={onDone} />}
    </Card>
  )
}

/** Buys credit packs, with the card of the workspace or on a page of the payment provider. */
function Buy({ pack, onClose, onDone }: { pack: CreditPack; onClose: () => void; onDone: () => unknown }) {
  const workspace = useWorkspace()
  const [quantity, setQuantity] = useState(1)
  const buy = useMutation({
    mutationFn: () => atrium.payments.creditPacks.buy({ credit_pack_id: pack.id, quantity }, { workspace }),
    onSuccess: async (made) => {
      await onDone()
      if (!made.action) onClose()
    },
  })
  const checkout = useMutation({
    mutationFn: () => atrium.payments.checkoutSessions.create(
      { credit_pack_id: pack.id, quantity, success_url: location.href, cancel_url: location.href }, { workspace }),
    onSuccess: (made) => location.assign(made.url),
  })
  const busy = buy.isPending || checkout.isPending
  if (buy.data?.action) {
    return (
      <Dialog open onClose={onClose} title={words.buyName(pack.name)}>
        <p className="m-0">{words.theBankWantsThe}</p>
      </Dialog>
    )
  }
  return (
    <Dialog open onClose={onClose} title={words.buyName(pack.name)}>
      <Form
        send={words.payAmount(money({ ...pack.price, amount: pack.price.amount * quantity }))} busy={busy} onSend={() => buy.mutate()}
        more={<Button disabled={busy} onClick={() => checkout.mutate()}>{words.payOnTheProviders}</Button>}
      >
        <p className="m-0 mb-3">{words.aPackCharges}</p>
        <Input
          name="quantity" label={words.quantity} type="number" min={1} max={1000} required value={quantity}
          onChange={(e) => setQuantity(e.target.valueAsNumber || 1)} error={fieldErrors(buy.error ?? checkout.error).quantity}
        />
        <Problem error={buy.error ?? checkout.error} />
      </Form>
    </Dialog>
  )
}
