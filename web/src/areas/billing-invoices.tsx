import { type Invoice } from '@atrium-hq/client'
import { atrium } from '../api'
import { useMutation } from '../app/mutation'
import { useList, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/billing'
import { Button, Pill, Problem, When } from '../ui/basics'
import { Bars } from '../ui/pictures'
import { More, Table } from '../ui/table'
import { money } from './billing-money'

/** What became of the payment of an invoice. */
function losses(i: Invoice): string[] {
  return [
    ...(i.amount_refunded.amount > 0 ? [words.refunded(money(i.amount_refunded))] : []),
    ...(i.disputed ? [words.disputed] : []),
  ]
}

export function Invoices({ onDone }: { onDone: () => unknown }) {
  const workspace = useWorkspace()
  const list = useList(['invoices', workspace], (cursor) => atrium.payments.invoices.list({ limit: 20, ...(cursor && { cursor }) }, { workspace }))
  const pay = useMutation({
    mutationFn: (i: Invoice) => atrium.payments.invoices.pay(i.id, { workspace }),
    onSuccess: (paid) => {
      if (paid.action && paid.invoice.hosted_url) location.assign(paid.invoice.hosted_url) // the bank wants the payer to confirm
      return onDone()
    },
  })
  if (list.items.length === 0) return <Problem error={list.error} />
  const columns = [
    { title: words.number, cell: (i: Invoice) => i.number ?? '–', text: (i: Invoice) => i.number ?? '', narrow: true },
    {
      title: t.status, narrow: true, text: (i: Invoice) => [i.status, ...losses(i)].join(', '),
      cell: (i: Invoice) => (
        <span className="flex flex-wrap gap-1">
          <Pill tone={i.status === 'paid' ? 'ok' : i.status === 'open' ? 'warn' : 'plain'}>{i.status}</Pill>
          {losses(i).map((loss) => <Pill key={loss} tone="warn">{loss}</Pill>)}
        </span>
      ),
    },
    { title: words.total, cell: (i: Invoice) => money(i.total), text: (i: Invoice) => String(i.total.amount), narrow: true },
    { title: words.made, cell: (i: Invoice) => <When at={i.created_at} />, text: (i: Invoice) => i.created_at, narrow: true },
    {
      title: t.actions, narrow: true,
      cell: (i: Invoice) => (
        <span className="flex justify-end gap-2 max-sm:justify-start">
          {i.status === 'open' && <Button disabled={pay.isPending} onClick={() => pay.mutate(i)}>{words.pay}</Button>}
          {i.hosted_url && <a href={i.hosted_url} target="_blank" rel="noopener" className="px-3 py-1.5">{t.show}</a>}
        </span>
      ),
    },
  ]
  return (
    <>
      <h2 className="text-base font-semibold">{words.invoices}</h2>
      <Problem error={pay.error} />
      {pay.data?.action && <p role="alert" className="text-warn">{words.theBankWantsThe}</p>}
      <Bars
        label={words.totalsOfTheInvoices}
        bars={[...list.items].reverse().filter((i) => i.total.currency === list.items[0]?.total.currency).map((i) => ({
          key: i.id, value: i.total.amount, bad: i.status === 'open' || i.status === 'uncollectible',
          title: `${new Date(i.created_at).toLocaleDateString()}: ${money(i.total)}, ${i.status}`,
        }))}
      />
      <Table label={words.invoices} items={list.items} id={(i) => i.id} columns={columns} csv="invoices" />
      <More list={list} />
    </>
  )
}
