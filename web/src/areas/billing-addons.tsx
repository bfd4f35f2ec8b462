import { type AddOn, type Subscription } from '@atrium-hq/client'
import { useState } from 'react'
import { Button, Card, Pill } from '../ui/basics'
import { Form, Input } from '../ui/form'
import { Dialog } from '../ui/overlays'
import { words } from '../text/billing'
import { Cost } from './billing-change'
import { money } from './billing-money'

/** What can be bought beside the plan of a subscription. */
export function AddOns({ addOns, subscription, onDone }: { addOns: AddOn[]; subscription: Subscription; onDone: () => unknown }) {
  const [chosen, setChosen] = useState<AddOn>()
  const units = (a: AddOn) => subscription.items.find((i) => i.add_on_id === a.id)?.quantity ?? 0
  const fits = (a: AddOn) => a.available && a.interval === subscription.plan?.interval && a.interval_count === subscription.plan.interval_count
  const offered = addOns.filter((a) => fits(a) || units(a) > 0)
  if (offered.length === 0) return null
  return (
    <Card title={words.addOns}>
      <ul className="m-0 list-none p-0">
        {offered.map((a) => (
          <li key={a.id} className="flex flex-wrap items-center gap-2 border-b border-line py-2 last:border-0">
            <span className="me-auto">
              <span className="font-medium">{a.name}</span> {units(a) > 0 && <Pill tone="ok">{units(a)} ×</Pill>}
              <span className="block text-soft">{money(a.price)} {words.per(a.interval_count, a.interval)}. {a.description}</span>
            </span>
            <Button onClick={() => setChosen(a)}>{units(a) > 0 ? words.changeDialog : words.addDialog}</Button>
          </li>
        ))}
      </ul>
      {chosen && <Quantity addOn={chosen} units={units(chosen)} onClose={() => setChosen(undefined)} onDone={onDone} />}
    </Card>
  )
}

function Quantity({ addOn, units, onClose, onDone }: { addOn: AddOn; units: number; onClose: () => void; onDone: () => unknown }) {
  const [wanted, setWanted] = useState<number>()
  return (
    <Dialog open onClose={onClose} title={addOn.name}>
      {wanted === undefined ? (
        <Form send={words.showWhatItCosts} onSend={(values) => setWanted(Number(values.quantity))}>
          <p className="m-0 mb-3">{words.anAddOnChanges}</p>
          <Input name="quantity" label={words.quantity} type="number" min={0} max={10000} required defaultValue={units || 1} />
        </Form>
      ) : (
        <Cost
          bought={`${wanted} × ${addOn.name}`} body={{ add_ons: [{ id: addOn.id, quantity: wanted }] }} act={words.changeTheAddOn}
          onBack={() => setWanted(undefined)} onClose={onClose} onDone={onDone}
        />
      )}
    </Dialog>
  )
}
