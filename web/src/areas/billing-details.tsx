import { type BillingDetails } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/billing'
import { Button, Card, fieldErrors, Problem } from '../ui/basics'
import { Form, Input } from '../ui/form'

const taxIds = 5

/** Whom invoices are for. */
export function Details() {
  const workspace = useWorkspace()
  const details = useQuery({ queryKey: ['billing-details', workspace], queryFn: () => atrium.payments.details.get({ workspace }) })
  const [editing, setEditing] = useState(false)
  const d = details.data
  const address = d?.address
  const lines = d ? [
    d.name ?? words.theNameOfThe, d.email ?? words.theAddressOfAn, address?.line1, address?.line2,
    [address?.postal_code, address?.city].filter(Boolean).join(' '), address?.state, address?.country, ...d.tax_ids.map((id) => `${id.type}: ${id.value}`),
  ].filter(Boolean) : []
  return (
    <Card title={words.billingDetails} actions={d && !editing && <Button onClick={() => setEditing(true)}>{t.edit}</Button>}>
      <Problem error={details.error} />
      {d && (editing ? <Fields details={d} onClose={() => setEditing(false)} /> : lines.map((line) => <p key={line} className="m-0">{line}</p>))}
    </Card>
  )
}

function Fields({ details: d, onClose }: { details: BillingDetails; onClose: () => void }) {
  const workspace = useWorkspace()
  const save = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.payments.details.replace(replacement(v), { workspace }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['billing-details', workspace] })
      onClose()
    },
  })
  const wrong = fieldErrors(save.error)
  const a = d.address
  const text = (name: string, label: string, value: string | null | undefined, more?: object) =>
    <Input name={name} label={label} defaultValue={value ?? ''} error={wrong[name]} {...more} />
  return (
    <Form send={t.save} busy={save.isPending} onSend={(v) => save.mutate(v)} more={<Button onClick={onClose}>{t.cancel}</Button>}>
      <div className="grid gap-x-4 sm:grid-cols-2">
        {text('name', t.name, d.name, { maxLength: 150, hint: words.withoutOneInvoicesAre })}
        {text('email', 'E-mail', d.email, { type: 'email', maxLength: 254, hint: words.withoutOneInvoicesGo })}
        {text('line1', t.address, a?.line1, { maxLength: 200 })}
        {text('line2', words.addressSecondLine, a?.line2, { maxLength: 200 })}
        {text('postal_code', words.postalCode, a?.postal_code, { maxLength: 40 })}
        {text('city', words.city, a?.city, { maxLength: 120 })}
        {text('state', words.stateOrRegion, a?.state, { maxLength: 120 })}
        {text('country', words.country, a?.country, { maxLength: 2, placeholder: words.exampleCountry, hint: words.twoLettersRequiredWith })}
      </div>
      <Input
        name="tax_ids" label={words.taxIds} defaultValue={d.tax_ids.map((id) => `${id.type} ${id.value}`).join(', ')} placeholder={words.exampleTaxIds}
        hint={words.eachWithItsType(taxIds)} error={wrong.tax_ids ?? wrong.type ?? wrong.value}
      />
      <Problem error={save.error} />
    </Form>
  )
}

/** The details as they were typed. Without any part of an address there is none. */
function replacement(v: Record<string, string>) {
  const filled = (names: string[]) => Object.fromEntries(names.map((n) => [n, v[n]?.trim() ?? '']).filter(([, value]) => value))
  const address = filled(['line1', 'line2', 'city', 'postal_code', 'state', 'country'])
  const ids = (v.tax_ids ?? '').split(',').map((typed) => typed.trim()).filter(Boolean).map((typed) => {
    const [type = '', ...value] = typed.split(/\s+/)
    return { type, value: value.join(' ') }
  })
  return {
    ...filled(['name', 'email']), tax_ids: ids,
    ...(Object.keys(address).length > 0 && { address: { ...address, country: (address.country ?? '').toUpperCase() } }),
  }
}
